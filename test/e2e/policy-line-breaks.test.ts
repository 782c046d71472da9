import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Diagnostic } from '../../src/policy/report/diagnostics.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { makeTestKey, startSignalbox, temporaryFolder, writePolicy } from '../support/signalbox.ts';
import { useLivePolicy, useUpstream } from '../support/use.ts';

/** Editors, YAML 1.1 and Signalbox see the same line breaks in every policy, however its text arrives. */
const upstream = useUpstream();
const base = testPolicy({ first: upstream.url }, { one: { endpoints: ['first'] } });
const live = useLivePolicy(() => ({ 'policy.yaml': base, 'rules.yaml': '# rules\n' }));

const BREAKS = { 'a lone CR': '\r', NEL: '\u0085', LS: '\u2028', PS: '\u2029' } as const;
/** In an editor, the second line looks like a setting. */
const disguised = (character: string) => `# rules${character}strong_from: 0.05\nunstated_languages: exclude\n`;
const AT = { code: 'line-break', severity: 'error', line: 1, column: 8, length: 1 } as const;

const found = ({ diagnostics }: { readonly diagnostics: readonly Diagnostic[] }) =>
  diagnostics.map(({ code, severity, line, column, length }) => ({ code, severity, line, column, length }));

async function checked(text: string): Promise<{ code: number; diagnostics: readonly Diagnostic[] }> {
  const folder = writePolicy({ 'policy.yaml': base, 'rules.yaml': text });
  const { code, out } = await runHere(['policy', 'check', folder, '--json'], UPSTREAM_ENV);
  return { code, ...JSON.parse(out) };
}

const put = async (text: string) => {
  const { revision } = await live.status();
  const headers = {
    authorization: `Bearer ${live.box.key}`,
    'content-type': 'application/json',
    'if-match': `"${revision}"`,
  };
  const body = JSON.stringify({ changes: [{ name: 'rules.yaml', text }] });
  return await fetch(`${live.box.url}/admin/policy/files`, { method: 'PUT', headers, body });
};

test.each(Object.entries(BREAKS))(
  '%s is refused with its location by the commands, over HTTP and on disk',
  async (_, character) => {
    const text = disguised(character);
    const byCommand = await checked(text);
    expect([byCommand.code, found(byCommand)]).toEqual([2, [AT]]);
    expect(byCommand.diagnostics[0]).toMatchObject({ expected: 'LF or CRLF at the end of each line' });
    const changes = [{ name: 'rules.yaml', text }];
    const byRequest = (await (await live.box.post('/admin/policy/check', { changes })).json()) as typeof byCommand;
    expect(found(byRequest)).toEqual([AT]);
    const { revision } = await live.status();
    const refused = await expectError(await put(text), 'policy_invalid');
    expect(refused.details).toMatchObject({ diagnostics: [{ ...AT, file: 'rules.yaml' }] });
    writeFileSync(live.file('rules.yaml'), text);
    await expectError(await live.box.post('/admin/policy/reload', {}), 'policy_invalid');
    expect((await live.status()).revision).toBe(revision);
    writeFileSync(live.file('rules.yaml'), '# rules\n');
    await live.reload();
  },
);

test('CRLF is a line break like LF, and an escape in a double-quoted text can represent any line break', async () => {
  const text = `${disguised('\n')}records: { retention_days: 30 }\n`;
  expect(found(await checked(text))).toEqual([]);
  expect(found(await checked(text.replaceAll('\n', '\r\n')))).toEqual([]);
  const name = (written: string) => `rate_limits:\n  - { name: a, each: ${written}, requests_per_minute: 5 }\n`;
  const expression = (character: string) => name(`"key.labels.team + '${character}' + key.id"`);
  for (const escaped of ['\\r', '\\N', '\\u2028', '\\u2029', '\\r\\n']) {
    expect([escaped, found(await checked(expression(escaped))).filter(({ code }) => code === 'line-break')]).toEqual([
      escaped,
      [],
    ]);
  }
  for (const character of Object.values(BREAKS)) {
    expect(found(await checked(expression(character)))).toContainEqual(
      expect.objectContaining({ code: 'line-break', line: 2 }),
    );
  }
});

test('a stored revision with an invalid line break prevents a start, the error has the location, and a push replaces the revision', async () => {
  const data = temporaryFolder();
  const folder = writePolicy({ 'policy.yaml': base, 'rules.yaml': '# rules\n' });
  const args = ['--policies', folder, '--policies-from', 'store'];
  const env = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: makeTestKey() };
  const start = () => startSignalbox({ data, args, env });
  const box = await start();
  writeFileSync(join(folder, 'rules.yaml'), 'strong_from: 0.07\n');
  expect((await box.run('policy', 'push', folder)).code).toBe(0);
  await box.stop();
  const database = new Database(join(data, 'signalbox.db'));
  const { source } = database.query<{ source: string }, []>('SELECT source FROM pushed_policies').get() ?? {
    source: '',
  };
  const former = source.replace('strong_from: 0.07\\n', `strong_from: 0.07 # was${BREAKS.LS}0.05\\n`);
  expect(former).not.toBe(source);
  database.run('UPDATE pushed_policies SET source = ?', [former]);
  database.close();
  const failure = await start().then(
    () => '',
    (cause: unknown) => String(cause),
  );
  expect(failure).toContain('The pushed policy 1 has 1 error; the server did not start.');
  expect(failure).toMatch(/rules\.yaml:1:24 {2}line-break/);
  // The command needs no server, and no valid earlier revision.
  const command = (from: string) => runHere(['policy', 'push', folder, '--from', from, '--data', data], UPSTREAM_ENV);
  const [revision = ''] = /[0-9a-f]{16}/.exec((await command('0123456789abcdef')).err) ?? [];
  expect((await command(revision)).code).toBe(0);
  const again = await start();
  expect((await again.get('/readyz')).status).toBe(200);
  await again.stop();
});
