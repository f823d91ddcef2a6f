// The memory that a Node.js process needs: garbage is collected first, so that the figure does not depend on the last collection.

interface HeapUsage {
  usedSize: number;
  backingStorageSize?: number;
}

/** Of the process whose inspector listens at this port of loopback. */
export async function liveMegabytes(inspectorPort: number): Promise<number> {
  const list = (await (await fetch(`http://127.0.0.1:${inspectorPort}/json/list`)).json()) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(list[0]?.webSocketDebuggerUrl ?? '');
  const results = new Map<number, (result: unknown) => void>();
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id: number; result: unknown };
    results.get(id)?.(result);
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('The inspector of the gateway does not answer.')));
  });
  const ask = (id: number, method: string) =>
    new Promise<unknown>((resolve) => {
      results.set(id, resolve);
      socket.send(JSON.stringify({ id, method }));
    });
  await ask(1, 'HeapProfiler.collectGarbage');
  const { usedSize, backingStorageSize = 0 } = (await ask(2, 'Runtime.getHeapUsage')) as HeapUsage;
  socket.close();
  return (usedSize + backingStorageSize) / 1024 / 1024;
}
