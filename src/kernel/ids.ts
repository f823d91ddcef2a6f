// Identifiers: UUIDs are compared and stored in lower case.

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The UUID in lower case; undefined: the value is not a UUID. */
export function parseUuid(value: unknown): string | undefined {
  return typeof value === 'string' && uuidPattern.test(value) ? value.toLowerCase() : undefined;
}

/**
 * The name by which a documentNr or Receipt.Uid is stored, found and compared [D306]: a UUID is one name in every letter case, any other
 * text is as sent. Applied where a request enters.
 */
export function sameNumber(number: string): string {
  return parseUuid(number) ?? number;
}

export function uuidToBytes(uuid: string): Uint8Array {
  return Uint8Array.from(Buffer.from(uuid.replaceAll('-', ''), 'hex'));
}

export function bytesToUuid(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
