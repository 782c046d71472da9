import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { objectOf, parseJson } from '../../src/core/json/object.ts';
import { TOY } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox, temporaryFolder, writePolicy } from '../support/signalbox.ts';

/** Tests of the policy folder that commands use if none is named. */

const POLICY = TOY.replace(
  'sim: { adapter: simulated }',
  '$&, far: { adapter: openai-compatible, base_url: "http://127.0.0.1:9", api_key_env: FAR_KEY }',
);
const folder = writePolicy(POLICY);
const other = writePolicy(POLICY);
const data = temporaryFolder();
let box: Signalbox;
beforeAll(async () => {
  box = await startSignalbox({ data, args: ['--policies', folder] });
});
afterAll(async () => {
  await box.stop();
  for (const one of [folder, other, data]) rmSync(one, { recursive: true, force: true });
});

const check = (...more: string[]) => runHere(['policy', 'check', '--data', data, ...more]);

describe('a command on the data folder of a server', () => {
  test('uses the policy folder of the server, while it runs and after it has stopped', async () => {
    expect(await check()).toMatchObject({ code: 0, out: expect.stringContaining(`${folder}: 1 file`) });
    writeFileSync(join(folder, 'more.yaml'), 'nonsense: 1\n');
    expect((await check()).code).toBe(2);
    await box.stop();
    expect((await check()).code).toBe(2);
    rmSync(join(folder, 'more.yaml'));
    expect((await check()).code).toBe(0);
  });

  test('uses the folder that it names instead', async () => {
    for (const { out } of [await check(other), await check('--policies', other)]) expect(out).toContain(`${other}: `);
    const named = await runHere(['policy', 'check', '--data', data], { SIGNALBOX_POLICIES: other });
    expect(named.out).toContain(`${other}: `);
  });

  test('uses the default again if the folder of the server is gone', async () => {
    rmSync(folder, { recursive: true });
    expect((await check()).out).not.toContain(folder);
  });
});

test('the log of a start names the policy folder, in the command with the reasons, too', async () => {
  const policies = writePolicy(POLICY);
  const server = await startSignalbox({ args: ['--policies', policies] });
  const entries = server.lines.map((line) => objectOf(parseJson(line)));
  await server.stop();
  const entry = (message: string) => entries.find((one) => one.message === message);
  expect(entry('listening')).toMatchObject({ policies });
  expect(entry('some providers are not used')?.reasons).toBe(`./signalbox policy check ${policies} --all`);
  rmSync(policies, { recursive: true, force: true });
});
