// The commands that call the cabinet's API, against a running gateway: what it prints, and what it says when things are wrong.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CommandIo, cabinetCommands } from '../../src/cli/cabinet-commands.ts';
import { startInstance } from '../../src/database/instances.ts';
import { systemClock } from '../../src/kernel/system.ts';
import type { DropNote } from '../../src/link/drop-counts.ts';
import { adminToken, openCabinet, type RunningCabinet } from '../cabinet/running-cabinet.ts';
import { seedCallback, seedCommand, seedDevice, seedInvoice, seedMerchant } from '../support/fixtures.ts';
import { freePort } from '../support/free-port.ts';
import { quietLogger } from '../support/quiet-logger.ts';

interface Run {
  code: number;
  out: string;
  err: string;
}

describe('the cabinet by command line', () => {
  let cabinet: RunningCabinet;
  beforeAll(async () => {
    cabinet = await openCabinet('sqlite');
  });
  afterAll(() => cabinet.close());

  async function run(line: string, changes: Partial<CommandIo> = {}): Promise<Run> {
    const words = line.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', '')) ?? [];
    const command = cabinetCommands.find(({ name }) => name === words[0] || name === words.slice(0, 2).join(' '));
    if (!command) throw new Error(`No command ${line}`);
    const out: string[] = [];
    const err: string[] = [];
    const io = {
      out: (text: string) => out.push(text),
      err: (text: string) => err.push(text),
      baseUrl: cabinet.url,
      adminToken,
      pause: () => Promise.reject(new Error('Enough.')),
      ...changes,
    };
    const code = await command.run(words.slice(command.name.split(' ').length), io);
    return { code, out: out.join('\n'), err: err.join('\n') };
  }

  async function json(line: string): Promise<Record<string, string>> {
    const { code, out, err } = await run(`${line} --json`);
    expect(err).toBe('');
    expect(code).toBe(0);
    return JSON.parse(out) as Record<string, string>;
  }

  it('runs a merchant, its keys and its devices through their lives', async () => {
    const merchant = await json('merchant create --name "Corner shop"');
    expect(merchant['callbackSecret']).toMatch(/^whsec_/);
    expect((await run('merchant list')).out).toMatch(
      new RegExp(`^id +name +createdAt +sharePercent\n${merchant['id']} +Corner shop +\\d{4}-\\S+ +-`),
    );

    expect(await run(`merchant share ${merchant['id']} --percent 30`)).toMatchObject({ code: 0, out: 'Set.' });
    expect((await run('merchant list')).out).toMatch(/ 30$/);
    expect(await run(`merchant share ${merchant['id']} --percent 101`)).toMatchObject({
      code: 1,
      err: expect.stringContaining('sharePercent'),
    });
    expect(await run(`merchant share ${merchant['id']} --percent half`)).toMatchObject({ code: 2 });
    expect(await run(`merchant share ${merchant['id']}`)).toMatchObject({ code: 0 });
    expect((await run('merchant list')).out).toMatch(/ -$/);
    const signing = await json(`merchant secret ${merchant['id']} --overlap-s 60`);
    expect(signing['secret']).toMatch(/^whsec_/);
    expect(Date.parse(signing['oldSecretEndsAt'] ?? '')).toBeGreaterThan(0);
    expect(await run(`merchant secret ${merchant['id']} --overlap-s soon`)).toMatchObject({ code: 2 });

    const key = await json(`key create --merchant ${merchant['id']} --name ERP --modules POS,QR --expires 2099-01-01T00:00:00Z`);
    expect(await cabinet.access.findCaller(key['key'] ?? '')).toMatchObject({ modules: new Set(['POS', 'QR']) });
    const rotated = await json(`key rotate ${key['id']} --overlap-s 60`);
    expect((await run(`key revoke ${rotated['id']}`)).out).toMatch(/^revokedAt {2}\d{4}-/);
    const { out } = await run(`key list --merchant ${merchant['id']}`);
    expect(out).toContain('POS,QR');
    expect(out).toContain('revoked');
    expect(out).not.toContain(key['key']);

    const device = await json(`device create --merchant ${merchant['id']} --kind terminal --name "Till 1" --bank one --pos-code P7`);
    expect(device['pairingCode']).toMatch(/^.{4}-.{4}$/);
    expect((await run(`device rename ${device['id']} --name "Till 2"`)).out).toBe('Renamed.');
    expect((await run(`device disable ${device['id']}`)).out).toBe('Disabled.');
    expect((await run('device list')).out).toMatch(/Till 2 +one +disabled +- +-$/m);
    expect((await run(`device enable ${device['id']}`)).out).toBe('Enabled.');
    expect((await run(`device pairing-code ${device['id']}`)).out).toMatch(/^pairingCode +.{4}-.{4}$/m);
    const { secret } = await json(`device secret ${device['id']}`);
    expect(await cabinet.devices.checkSecret(device['id'] ?? '', secret ?? '')).toBeDefined();

    expect((await run('callback list --state dead')).out).toMatch(/^id +subjectId/);
    const span = '--from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z';
    expect((await run(`callback resend --merchant ${merchant['id']} ${span}`)).out).toBe('Callbacks sent again: 0');
  });

  it('brings people in: the first operator, others by name, and those who forgot their password', async () => {
    const { id: merchantId = '' } = await json('merchant create --name "Flower shop"');
    const first = await run('user create');
    expect(first.out).toMatch(/^link +http:.*\/tillgate\/cabinet\/link#[\w-]{43}\nlinkExpiresAt +\d{4}-/);
    const token = /#(\S+)/.exec(first.out)?.[1] ?? '';
    const origin = { address: '127.0.0.1', agent: 'test' };
    await cabinet.people.useLink({ token, password: 'bread and butter', name: 'Olga', email: 'olga@tillgate.md' }, origin);
    expect(await run('user create')).toMatchObject({ code: 1, err: expect.stringContaining('There is an operator already') });
    expect(await run('user create --name Ana')).toMatchObject({ code: 2, err: expect.stringContaining('--email is missing') });
    expect((await run(`user create --email ana@shop.md --name Ana --role merchant --merchant ${merchantId}`)).code).toBe(0);
    expect((await run('user create --email eve@shop.md --role viewer')).code).toBe(0);
    const { out } = await run('user list');
    expect(out).toMatch(/ana@shop.md +Ana +merchant +Flower shop +false +invited/);
    expect(out).toMatch(/eve@shop.md +eve@shop.md +viewer +- +false +invited/);
    expect(out).toMatch(/olga@tillgate.md +Olga +operator +- +false +active/);
    expect((await run(`user list --merchant ${merchantId}`)).out).not.toContain('eve@');
    expect((await run('user list --after eve@shop.md')).out).not.toContain('eve@');
    const reset = await json('user reset Olga@tillgate.md');
    expect(await cabinet.people.readLink(reset['link']?.split('#')[1] ?? '')).toMatchObject({
      purpose: 'reset',
      email: 'olga@tillgate.md',
    });
    expect(await run('user reset nobody@shop.md')).toMatchObject({ code: 1, err: expect.stringContaining('no user') });
  });

  it('finds a sale, tells its story, decides what could not be settled and shows who did', async () => {
    const { queries } = cabinet.database;
    const { id: merchantId } = await seedMerchant(queries);
    const { id: deviceId } = await seedDevice(queries, merchantId);
    const documentNr = randomUUID();
    const unclear = { state: 'unknown', answer_by: 1_000, review_since: 2_000, review_reason: 'Nobody can tell.' } as const;
    const { id } = await seedCommand(queries, merchantId, deviceId, { ...unclear, document_nr: documentNr });

    expect((await run(`review list --merchant ${merchantId}`)).out).toMatch(
      new RegExp(`^id .*\\n${id} .*${documentNr} .*Nobody can tell\\.$`),
    );
    expect((await run(`command list --q ${documentNr}`)).out).toContain(id);
    expect((await run(`command list --merchant ${merchantId} --state paid`)).out).not.toContain(id);
    const decided = await run(`command decide ${id} --state done --reason "the bank says so" --operation-id OP7 --rrn 123456789012`);
    expect(decided).toMatchObject({ code: 0, out: expect.stringMatching(/^id +\S+\nstate +done$/m) });
    expect((await run(`review list --merchant ${merchantId}`)).out).not.toContain(id);
    const shown = (await run(`command show ${id}`)).out;
    expect(shown).toMatch(/^operationId +OP7$/m);
    expect(shown).toMatch(/^\d{4}-\S+ +person .*the bank says so/m);
    expect((await run(`audit list --subject ${id}`)).out).toContain('the bank says so');
    // No terminals are played here; what counts is that the step was reached with all that it asks for.
    expect(await run(`command close-document ${id} --reason "the terminal broke"`)).toMatchObject({ code: 1, out: '' });
    expect(JSON.stringify(cabinet.logger.lines)).toContain('The cabinet plays no terminals.');
    expect(await run(`command close-document ${id}`)).toMatchObject({ code: 2, err: expect.stringContaining('--reason is missing') });
  });

  it('lists invoices and orphans, and shows a callback with its address and what went wrong', async () => {
    const { queries } = cabinet.database;
    const { id: merchantId } = await seedMerchant(queries);
    const { oid } = await seedInvoice(queries, merchantId);
    const orphan = { merchant_id: merchantId, oid, receipt_id: 'R-1', device_id: randomUUID(), reason: 'too-late', at: 5 };
    await queries.insertInto('orphan_payments').values(orphan).execute();
    const { id } = await seedCallback(queries, merchantId, { subject_id: oid, url: 'https://erp.example.md/paid' });
    const attempt = {
      callback_id: id,
      attempt: 1,
      at: 5,
      status: null,
      error: 'The ERP is away.',
      duration_ms: 7,
      response_head: null,
    };
    await queries.insertInto('callback_attempts').values(attempt).execute();

    expect((await run(`invoice list --merchant ${merchantId}`)).out).toContain(oid);
    expect((await run(`invoice show ${oid}`)).out).toMatch(new RegExp(`^oid +${oid}\\n[\\s\\S]*\\n\\nat +actor`));
    expect((await run(`orphan list --merchant ${merchantId}`)).out).toMatch(new RegExp(`${oid} +R-1 `));
    expect((await run(`callback list --merchant ${merchantId}`)).out).toMatch(/https:\/\/erp\.example\.md\/paid$/m);
    expect((await run(`callback show ${id}`)).out).toMatch(
      /^url +https:\/\/erp\.example\.md\/paid\n\n.*\n1 +\S+ +- +7 +The ERP is away\.$/m,
    );
  });

  it('shows what of a device was dropped, and follows what is dropped from then on', async () => {
    const { queries } = cabinet.database;
    const { id: merchantId } = await seedMerchant(queries);
    const { id } = await seedDevice(queries, merchantId);
    expect(await run(`device messages ${id}`)).toMatchObject({ code: 0, out: 'Nothing was dropped.' });
    expect(await run(`device messages ${randomUUID()}`)).toMatchObject({ code: 1, err: expect.stringContaining('errorCode 20') });
    const note = (field: string, count: number): DropNote => ({
      channel: 'mqtt',
      reason: 'field',
      field,
      why: 'must be so',
      count,
      firstAtMs: 0,
      lastAtMs: count * 1_000,
    });
    const dropNow = (...notes: DropNote[]) => cabinet.link.dropNotes.set(id, notes);
    dropNow(note('clock', 1));
    expect((await run(`device messages ${id}`)).out).toMatch(/^lastAt .*\n1970-01-01T00:00:01.000Z +mqtt +field +clock +1 +must be so$/);

    // The second look finds two kinds more, the third nothing new, then somebody presses Ctrl-C.
    const looks = [() => dropNow(note('outcome', 3), note('clock', 2)), () => {}];
    const pause = async () => {
      const look = looks.shift();
      if (!look) throw new Error('Enough.');
      look();
    };
    const { out } = await run(`device messages ${id} --follow`, { pause });
    expect(out.split('\n').slice(2)).toEqual([
      '1970-01-01T00:00:02.000Z mqtt field clock: must be so (2)',
      '1970-01-01T00:00:03.000Z mqtt field outcome: must be so (3)',
    ]);
    looks.push(() => dropNow(note('outcome', 4), note('clock', 2)));
    const lines = (await run(`device messages ${id} --follow --json`, { pause })).out.split('\n').map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([{ dropped: [{ count: 3 }, { count: 2 }] }, { field: 'outcome', count: 4 }]);
    expect(await run(`device list --follow`)).toMatchObject({ code: 2 });
  });

  it('goes on with a long list', async () => {
    const { queries } = cabinet.database;
    const { id: merchantId } = await seedMerchant(queries);
    const { id: deviceId } = await seedDevice(queries, merchantId);
    const settled = { state: 'refused', settled_at: 5, settled_by: 'answer' } as const;
    for (let count = 0; count < 3; count += 1) await seedCommand(queries, merchantId, deviceId, settled);
    const seen = new Set<string>();
    let cursor = '';
    for (let pages = 0; pages < 10; pages += 1) {
      const { out } = await run(`command list --merchant ${merchantId} --limit 1${cursor}`);
      for (const [id = ''] of out.matchAll(/^[0-9a-f-]{36}/gm)) seen.add(id);
      const next = /^next: (--cursor \S+)$/m.exec(out)?.[1];
      if (next === undefined) break;
      cursor = ` ${next}`;
    }
    expect(seen.size).toBe(3);
  });

  it('tells programs what was wrong in JSON', async () => {
    const refused = await run('key revoke 3b241101-e2bb-4255-8caf-4136c566a962 --json');
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(JSON.parse(refused.err)).toEqual({ error: expect.stringContaining('Record_not_exist'), errorCode: 20 });
    const mistyped = await run('key revoke --json');
    expect([mistyped.code, JSON.parse(mistyped.err)]).toEqual([2, { error: 'KEY_ID is missing.' }]);
    const nowhere = await run(`merchant list --json --url http://127.0.0.1:${await freePort()}`);
    expect([nowhere.code, JSON.parse(nowhere.err)]).toEqual([
      1,
      { error: expect.stringMatching(/No gateway answers.*\/tillgate\. Nothing listens/) },
    ]);
  });

  it('finds the gateway when --url names only its host', async () => {
    const host = new URL(cabinet.url).origin;
    for (const url of [host, `${host}/`, cabinet.url, `${cabinet.url}/`]) {
      expect(await run(`merchant list --url ${url}`), url).toMatchObject({ code: 0, err: '' });
    }
    expect(await run(`merchant list --url ${host}/elsewhere`)).toMatchObject({ code: 1 });
  });

  it('repeats what the gateway refused, and exits 1', async () => {
    const unknown = '3b241101-e2bb-4255-8caf-4136c566a962';
    expect(await run(`key revoke ${unknown}`)).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/Record_not_exist: .*errorCode 20/),
    });
    expect(await run('key revoke ../merchants')).toMatchObject({ code: 1, err: expect.stringContaining('Invalid_Request') });
    expect(await run('merchant list', { adminToken: 'wrong' })).toMatchObject({ code: 1, err: expect.stringContaining('admin token') });
    expect(await run('merchant create --name " "')).toMatchObject({ code: 1, err: expect.stringContaining('name') });
  });

  it('lists the gateways, with what they carry', async () => {
    const status = { http: 3, devices: 40, channels: { mqtt: true, queue: false }, database: { busy: 1, idle: 2, waiting: 4 } };
    const readStatus = async () => ({ ...status, waitingCalls: 5, commands: 6, callbacks: 7 });
    const description = { id: randomUUID(), host: 'till-1', pid: 812, embedded: '', version: '1.2.3' };
    const instance = await startInstance({ ...cabinet, clock: systemClock, logger: quietLogger, readStatus }, description);
    const [head, line, ...more] = (await run('instances')).out.split('\n');
    expect(head).toMatch(
      /^state +version +host +pid +startedAt +seenAt +clockOffsetMs +mqtt +queue +devices +http +database +waitingCalls/,
    );
    expect(line).toMatch(/^running +1\.2\.3 +till-1 +812 .* up +down +40 +3 +1 busy, 2 idle, 4 waiting +5 +6 +7$/);
    expect(more).toEqual([]);
    await instance.stop();
    expect((await run('instances --json')).out).toBe('{"instances":[]}');
  });

  it('says so when no gateway answers, or something else does', async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}/tillgate`;
    expect(await run(`merchant list --url ${nowhere}`)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/No gateway answers at .*ECONNREFUSED.*--url/),
    });
    expect(await run('merchant list', { baseUrl: cabinet.url.replace('/tillgate', '') })).toMatchObject({ code: 1 });
    expect(await run('merchant list --url nonsense')).toMatchObject({ code: 2 });
    expect(await run('merchant list', { adminToken: undefined })).toMatchObject({
      code: 2,
      err: expect.stringContaining('TILLGATE_ADMIN_TOKEN'),
    });
  });

  it('explains each command, and what was typed wrongly', async () => {
    for (const { name, usage, help } of cabinetCommands) {
      const shown = await run(`${name} --help`, { adminToken: undefined });
      expect(shown.code).toBe(0);
      expect(shown.out).toContain(usage);
      expect(shown.out).toContain(help);
    }
    for (const line of [
      'key create --name x',
      'key revoke',
      'key revoke a b',
      'merchant list x',
      'merchant list --color',
      'callback resend',
    ]) {
      const wrong = await run(line);
      expect(wrong, line).toMatchObject({ code: 2, out: '' });
      expect(wrong.err).toContain('Usage: tillgate');
    }
    expect(await run('key rotate x --overlap-s soon')).toMatchObject({ code: 2 });
  });
});
