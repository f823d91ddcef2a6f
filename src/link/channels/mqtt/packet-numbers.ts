// What writes packets, under aedes and mqtt alike, makes a buffer of each number from 0 to 65,535 with its first packet, to have them ready:
// 17 MB and 40 ms for numbers of two bytes, which are quickly written. A setting before its first use turns that off.

export async function keepNoNumbersReady(): Promise<void> {
  const { default: packets } = await import('mqtt-packet');
  packets.writeToStream.cacheNumbers = false;
}
