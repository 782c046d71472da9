import { afterAll, expect, test } from 'bun:test';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv';
import { runHere } from '../support/run-here.ts';
import { temporaryFolder, writePolicy } from '../support/signalbox.ts';

const folder = writePolicy('version: 1\n');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('policy schema reports in a sentence that it cannot write, and leaves no file', async () => {
  const path = join(folder, 'policy.schema.json');
  mkdirSync(join(path, 'in-its-place'), { recursive: true });
  const { code, out, err } = await runHere(['policy', 'schema', folder, '--write']);
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toStartWith(`signalbox: ${path} cannot be written: `);
  expect(err).toEndWith('.\n');
  expect(readdirSync(folder).sort()).toEqual(['policy.schema.json', 'policy.yaml']);
});

test('policy schema keeps the mode of an existing file, and writes to the target of a link', async () => {
  const [home, elsewhere] = [writePolicy('version: 1\n'), temporaryFolder()];
  const [path, real] = [join(home, 'policy.schema.json'), join(elsewhere, 'kept.json')];
  const write = () => runHere(['policy', 'schema', home, '--write']);
  try {
    writeFileSync(real, '{}');
    chmodSync(real, 0o640);
    symlinkSync(real, path);
    expect((await write()).code).toBe(0);
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
    expect(statSync(real).mode & 0o777).toBe(0o640);
    expect(JSON.parse(readFileSync(real, 'utf8'))).toHaveProperty('properties');
    // If the target of a link does not exist, the command cannot know where to create it.
    rmSync(real);
    expect(await write()).toMatchObject({ code: 1, err: `signalbox: ${path} cannot be written: it does not exist.\n` });
    rmSync(path);
    expect((await write()).code).toBe(0);
    expect(readdirSync(home).sort()).toEqual(['policy.schema.json', 'policy.yaml']);
  } finally {
    for (const one of [home, elsewhere]) rmSync(one, { recursive: true, force: true });
  }
});

test('policy schema writes the schema of the credentials file, which an editor checks entries with', async () => {
  const home = writePolicy('version: 1\n');
  try {
    expect((await runHere(['policy', 'schema', home, '--credentials', '--write'])).code).toBe(0);
    const schema = JSON.parse(readFileSync(join(home, 'credentials.schema.json'), 'utf8'));
    const isValid = new Ajv({ strict: false }).compile(schema);
    const entry = { source: 'command', run: ['/opt/bin/token'], hosts: ['llm.example.com'] };
    expect(isValid({ credentials: { TOKEN: entry } })).toBe(true);
    expect(isValid({ credentials: { TOKEN: { ...entry, source: 'aws' } } })).toBe(false);
    expect(isValid({ credentials: { TOKEN: { ...entry, hosts: [] } } })).toBe(false);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
