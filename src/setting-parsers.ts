// What the text of a setting may be. Each parser returns the value, or throws an Error whose message completes "VARIABLE ...".
import ipaddr from 'ipaddr.js';
import { isTimeZone } from './kernel/time-zones.ts';

export type Parser<Value> = (text: string) => Value;

export function text(value: string): string {
  return value;
}

export function wholeNumber(least: number, most: number): Parser<number> {
  return (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < least || number > most) throw new Error(`must be a whole number from ${least} to ${most}`);
    return number;
  };
}

export function yesOrNo(value: string): boolean {
  return oneOf('yes', 'no')(value) === 'yes';
}

export function oneOf<const Choice extends string>(...choices: Choice[]): Parser<Choice> {
  return (value) => {
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw new Error(`must be one of ${choices.join(', ')}`);
    return found;
  };
}

export function timeZone(value: string): string {
  if (!isTimeZone(value)) throw new Error('must be the name of a time zone such as Europe/Chisinau');
  return value;
}

export function listOf<Value>(parse: Parser<Value>): Parser<Value[]> {
  return (value) =>
    value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map(parse);
}

/** They are part of an address and allow to try secrets: characters that need no encoding, and enough of them. */
export function brokerTokens(value: string): string[] {
  const tokens = listOf(text)(value);
  if (tokens.length > 2 || tokens.some((token) => !/^[A-Za-z0-9_-]{24,128}$/.test(token)))
    throw new Error('must be one token, or two with a comma between, each of 24 to 128 letters, digits, - and _');
  return tokens;
}

export function cidr(value: string): string {
  if (!ipaddr.isValidCIDR(value)) throw new Error('must be a list of CIDR ranges such as 10.0.0.0/8');
  return value;
}

/** Without scheme and port, as one of a list. */
export function hostName(value: string): string {
  if (!ipaddr.isValid(value) && !/^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/i.test(value))
    throw new Error('must be a list of host names such as pay.example.md, without scheme and port');
  return value.toLowerCase();
}

export function urlOf(...protocols: string[]): Parser<string> {
  return (value) => {
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
      throw new Error(`must be an address that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
    }
    return value;
  };
}

export function webUrl(value: string): string {
  return urlOf('http:', 'https:')(value).replace(/\/+$/, '');
}

/** Node's own client takes no login. */
export function withoutLogin(parse: Parser<string>): Parser<string> {
  return (value) => {
    const url = parse(value);
    const { username, password } = new URL(url);
    if (username !== '' || password !== '') throw new Error('must not hold a login');
    return url;
  };
}

/** An address that others get, and that a path is appended to. Without // a login would be read as the path. */
export function publicAddress(parse: Parser<string>): Parser<string> {
  return (value) => {
    const url = withoutLogin(parse)(value);
    const { host, search, hash } = new URL(url);
    if (host === '') throw new Error('must name a host after //');
    if (search !== '' || hash !== '') throw new Error('must have no part that begins with ? or #');
    return url;
  };
}

export function pathSegment(value: string): string {
  if (!/^\/[A-Za-z0-9._~-]+$/.test(value)) throw new Error('must be one path segment such as /tillgate');
  return value;
}

/** Rates are dated, because laws change them; hundredths of a percent, because money is never a fraction. */
export function vatRate(value: string): { letter: string; basisPoints: number; validFrom: string } {
  const match = /^([A-Z])=(\d{1,2}(?:\.\d{1,2})?)@(\d{4}-\d{2}-\d{2})$/.exec(value);
  const [, letter, percent, day] = match ?? [];
  if (!letter || !day || Number.isNaN(Date.parse(day))) throw new Error('must be a list such as A=20@1998-01-01,B=8@1998-01-01');
  return { letter, basisPoints: Math.round(Number(percent) * 100), validFrom: `${day}T00:00:00Z` };
}

export function banks(value: string): { code: string; name: string }[] {
  return listOf((part) => {
    const [code, name] = part.split('=').map((side) => side.trim());
    if (!code || !name || !/^[a-z0-9-]{1,32}$/.test(code)) throw new Error('must be a list such as maib=maib,otp=OTP Bank');
    return { code, name };
  })(value);
}
