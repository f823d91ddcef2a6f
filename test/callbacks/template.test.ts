import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkTemplate, expandTemplate } from '../../src/callbacks/template.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';

const oid = '0f8b9a52-9d3e-4c0e-8a57-0a3f9d1f7e11';
const anyText = fc.string({ unit: 'binary', maxLength: 60 });
const nastyText = fc.oneof(
  anyText,
  fc.constantFrom(
    '&State=Payed',
    '#State#',
    '#OID#',
    'a\r\nX-Evil: 1',
    '/../',
    '?x=1',
    '%00',
    '%26',
    'Ă ș €',
    '\u{1f9fe}',
    '\ud800',
    '@evil.example',
    ' ',
  ),
  fc.array(fc.constantFrom('#', 'State', 'OID', '&', '=', '%', '/', '.', '\r\n'), { maxLength: 12 }).map((parts) => parts.join('')),
);

describe('expanding a template', () => {
  it('replaces each placeholder wherever it stands in path and query', () => {
    const template = 'https://erp.example/cb/#OID#/x?s=#State#&r=#ReceiptID#&d=#DeviceID#&again=#OID#';
    expect(expandTemplate(template, { OID: oid, State: 'Payed', ReceiptID: 'R 1', DeviceID: 'D' })).toBe(
      `https://erp.example/cb/${oid}/x?s=Payed&r=R%201&d=D&again=${oid}`,
    );
  });

  it('replaces placeholders that an encoder of URLs has written as well [D151]', () => {
    const template = 'https://erp.example/%23OID%23/x?s=%23State%23&r=#ReceiptID%23&c=%23fff&d=%23DeviceID%23';
    expect(expandTemplate(template, { OID: oid, State: 'Payed', ReceiptID: 'R', DeviceID: 'D' })).toBe(
      `https://erp.example/${oid}/x?s=Payed&r=R&c=%23fff&d=D`,
    );
  });

  it.each(['?id=%23oid%23', '?id=#Oid#', '/%23Status%23', '?a=#OID#&b=%23Receipt_ID%23', '?a=%23State#&b=#state%23'])(
    'refuses a word that is no placeholder, with the list of those that are: %s',
    (rest) => {
      expect(() => checkTemplate(`https://erp.example${rest}`)).toThrow('#OID#, #State#, #ReceiptID# and #DeviceID#');
    },
  );

  it('refuses an encoded placeholder before the path', () => {
    expect(() => checkTemplate('https://%23OID%23.example/')).toThrow('before its path');
  });

  it('leaves a placeholder without a value empty', () => {
    expect(expandTemplate('http://erp.example/?r=#ReceiptID#&d=#DeviceID#', { OID: oid, State: 'Scanned', DeviceID: null })).toBe(
      'http://erp.example/?r=&d=',
    );
  });

  it.each([
    ['&State=Payed', '%26State%3DPayed'],
    ['#State#', '%23State%23'],
    ['a\r\nb', 'a%0D%0Ab'],
    ['чек №7', encodeURIComponent('чек №7')],
    ['50%', '50%25'],
    ['\ud800', '%EF%BF%BD'],
  ])('encodes %j', (value, encoded) => {
    expect(expandTemplate('http://erp.example/cb?r=#ReceiptID#&s=#State#', { State: 'Payed', ReceiptID: value })).toBe(
      `http://erp.example/cb?r=${encoded}&s=Payed`,
    );
  });

  it('does not let a value climb in the path', () => {
    const expand = (ReceiptID: string) => expandTemplate('http://erp.example/a/#ReceiptID#/b', { ReceiptID });
    expect(['..', '.', '...'].map(expand)).toEqual(['%2E%2E', '%2E', '...'].map((value) => `http://erp.example/a/${value}/b`));
  });

  it.each([
    ['http://erp.example/cb?x=1#part', 'http://erp.example/cb?x=1'],
    ['http://erp.example/cb#', 'http://erp.example/cb'],
    ['http://erp.example#part', 'http://erp.example/'],
    ['http://erp.example', 'http://erp.example/'],
    ['http://erp.example?s=#State#', 'http://erp.example/?s=Payed'],
    ['HTTPS://ERP.Example:443/Cb', 'https://erp.example/Cb'],
    ['http://[::1]:8080/#State#', 'http://[::1]:8080/Payed'],
    ['http://user:word@erp.example/x', 'http://user:word@erp.example/x'],
    ['http://erp.example/чек?q={1}&a[]=2&p=%41', 'http://erp.example/%D1%87%D0%B5%D0%BA?q=%7B1%7D&a[]=2&p=%41'],
    ['http://erp.example/#State#State#', 'http://erp.example/PayedState'],
    ['http://erp.example/##State##', 'refused'],
    ['http://erp.example/a/../b', 'http://erp.example/a/../b'],
  ])('%s becomes %s', (template, url) => {
    const expand = () => expandTemplate(template, { State: 'Payed' });
    if (url === 'refused') expect(expand).toThrow(GatewayError);
    else expect(expand()).toBe(url);
  });

  it('lets a URL parser restore each value exactly', () => {
    fc.assert(
      fc.property(nastyText, nastyText, nastyText, nastyText, (OID, State, ReceiptID, DeviceID) => {
        const text = expandTemplate('https://erp.example:8443/cb/#OID#x?a=#State#&b=#ReceiptID#&c=#DeviceID#&d=end', {
          OID,
          State,
          ReceiptID,
          DeviceID,
        });
        expect(text).toMatch(/^[\u0021-\u007e]+$/);
        const url = new URL(text);
        expect(url.origin).toBe('https://erp.example:8443');
        expect(url.hash).toBe('');
        expect([...url.searchParams]).toEqual([
          ['a', State.toWellFormed()],
          ['b', ReceiptID.toWellFormed()],
          ['c', DeviceID.toWellFormed()],
          ['d', 'end'],
        ]);
        expect(decodeURIComponent(url.pathname)).toBe(`/cb/${OID.toWellFormed()}x`);
      }),
      { numRuns: 2_000 },
    );
  });

  it('expands in one pass: a value is never read as a placeholder', () => {
    fc.assert(
      fc.property(nastyText, (ReceiptID) => {
        const url = new URL(
          expandTemplate('http://erp.example/?r=#ReceiptID#', { ReceiptID, State: 'LEAKED', OID: 'LEAKED', DeviceID: 'LEAKED' }),
        );
        expect(url.search).not.toContain('LEAKED');
      }),
    );
  });
});

describe('checking a template', () => {
  it.each([
    '',
    'erp.example/cb',
    '/cb?oid=#OID#',
    '//erp.example/cb',
    'ftp://erp.example/',
    'javascript:alert(1)',
    'file:///etc/passwd',
    '#OID#://erp.example/',
    'http://#OID#/',
    'http://#OID#.erp.example/',
    'http://erp.example#OID#/',
    'http://erp.example#OID#',
    'http://erp#State#.example/cb',
    'http://#OID#@erp.example/',
    'http://user:#OID#@erp.example/',
    'http://erp.example:#State#/',
    'http:erp.example/',
    'http:/erp.example/',
    'http:///erp.example/',
    'http://',
    'http://?x',
    'http://erp.example:99999/',
    'http://erp.example\\@evil.example/',
    'http://erp example/',
    'http://erp.example/a b',
    ' http://erp.example/',
    'http://erp.example/\r\nX-Evil: 1',
    'http://erp.example/\u0000',
    'ht\ntp://erp.example/',
    'http://[::1/',
    'http://a..%00b/',
    'http://user:100%@erp.example/',
    'http://%zz@erp.example/',
    'http://erp.example/?a=#Amount#&s=#State#',
    'http://erp.example/?a=#oid#',
    'http://erp.example/#/route?x=#OID#',
    'erp-one.example/http://',
    `http://erp.example/${'x'.repeat(2048)}`,
  ])('refuses %j and names CallbackURI', (template) => {
    expect(() => checkTemplate(template)).toThrow(
      expect.objectContaining({ errorName: 'Invalid_Request', message: expect.stringMatching(/^CallbackURI /) }),
    );
  });

  it('takes one of 2048 characters', () => {
    expect(() => checkTemplate('http://erp.example/'.padEnd(2048, 'x'))).not.toThrow();
    expect(() => checkTemplate('http://erp.example/'.padEnd(2049, 'x'))).toThrow('longer than 2048');
  });

  it('takes a host of 253 characters as the DNS writes it, and none that is longer', () => {
    const named = (length: number) => `http://${'a'.repeat(length)}/x?o=#OID#`;
    expect(() => checkTemplate(named(253))).not.toThrow();
    expect(() => checkTemplate(named(254))).toThrow('must not have a host longer than 253 characters');
    // A user, a password and a port are no part of it.
    expect(() =>
      checkTemplate(
        named(253)
          .replace('//', `//${'u'.repeat(300)}:${'p'.repeat(300)}@`)
          .replace('/x', ':8080/x'),
      ),
    ).not.toThrow();
    // Two letters of these are a dozen in the DNS.
    const chinese = (count: number) => `http://${'中文.'.repeat(count)}example/x`;
    expect(new URL(chinese(20)).hostname).toHaveLength(247);
    expect(() => checkTemplate(chinese(20))).not.toThrow();
    expect(() => checkTemplate(chinese(21))).toThrow('international letters count as the DNS writes them');
  });

  it('every accepted template expands to a URL with the same host for all values', () => {
    const piece = fc.constantFrom(
      'http://',
      'https://',
      'erp',
      '.example',
      ':80',
      '/',
      '?',
      '&',
      '=',
      '#',
      '#OID#',
      '#State#',
      '@',
      '\\',
      '%41',
      'ș',
      '..',
      '[',
      ']',
      'x',
    );
    let accepted = 0;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 9 }), nastyText, (pieces, value) => {
        const template = `http://erp${pieces.join('')}`;
        try {
          checkTemplate(template);
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError);
          return;
        }
        accepted += 1;
        const empty = new URL(expandTemplate(template, {}));
        const full = new URL(expandTemplate(template, { OID: value, State: value, ReceiptID: value, DeviceID: value }));
        expect([full.protocol, full.username, full.password, full.host, full.hash]).toEqual([
          empty.protocol,
          empty.username,
          empty.password,
          empty.host,
          '',
        ]);
      }),
      { numRuns: 5_000 },
    );
    expect(accepted).toBeGreaterThan(200);
  });
});
