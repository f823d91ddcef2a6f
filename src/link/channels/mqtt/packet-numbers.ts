// mqtt-packet, used by aedes and mqtt, caches a buffer for each number from 0 to 65,535 when it writes its first packet. That costs 17 MB and
// 40 ms, to save writing two bytes. This setting, before the first use, turns the cache off.

export async function disableNumberCache(): Promise<void> {
  const { default: packets } = await import('mqtt-packet');
  packets.writeToStream.cacheNumbers = false;
}
