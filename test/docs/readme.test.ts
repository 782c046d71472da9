import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runToEnd, type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** The code blocks of the README and docs/start.md that say they can be run are run, as they stand. */
const ROOT = join(import.meta.dir, '../..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const START = readFileSync(join(ROOT, 'docs/start.md'), 'utf8');

interface Block {
  readonly language: string;
  readonly mark: string;
  readonly text: string;
}
const blocks: readonly Block[] = [...`${README}\n${START}`.matchAll(/^```(\w+)(?: (\w+))?\n([\s\S]*?)^```$/gm)].map(
  ([, language = '', mark = '', text = '']) => ({
    language,
    mark,
    text,
  }),
);
const marked = (mark: string, language: string) =>
  blocks.filter((block) => block.mark === mark && block.language === language);

let box: Signalbox;
beforeAll(async () => {
  box = await startSignalbox();
});
afterAll(() => box.stop());

/** Runs a command with the reader's own variables set, on this test's server and data. */
const run = (command: readonly string[]) =>
  runToEnd(command, { SIGNALBOX_KEY: box.key, SIGNALBOX_DATA: box.data }, ROOT);

const here = (text: string) => text.replaceAll('http://127.0.0.1:8787', box.url);

describe('the README', () => {
  test('has blocks to run, of each kind', () => {
    expect(marked('run', 'sh').length).toBeGreaterThanOrEqual(3);
    expect(marked('run', 'ts').length).toBeGreaterThanOrEqual(1);
    expect(marked('policy', 'yaml').length).toBeGreaterThanOrEqual(1);
  });

  for (const [i, { text }] of marked('run', 'sh').entries()) {
    test(`shell block ${i + 1} works as it stands: ${text.split('\n')[0]?.slice(0, 60)}`, async () => {
      const { code, out, err } = await run(['sh', '-ec', here(text)]);
      expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
      expect(out).not.toContain('"error"');
      expect(out.length).toBeGreaterThan(20);
    }, 20_000);
  }

  for (const [i, { text }] of marked('run', 'ts').entries()) {
    test(`program ${i + 1} works as it stands`, async () => {
      const file = join(ROOT, 'node_modules', `.readme-${process.pid}-${i}.ts`);
      writeFileSync(file, here(text));
      try {
        const { code, out, err } = await run(['bun', file]);
        expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
        expect(out).toContain('simulated');
      } finally {
        rmSync(file);
      }
    }, 20_000);
  }

  test('its policy example serves beside the shipped policy', async () => {
    const shipped = readdirSync(join(ROOT, 'policies'))
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => [name, readFileSync(join(ROOT, 'policies', name), 'utf8')] as const);
    const examples = marked('policy', 'yaml').map(({ text }, i) => [`readme-${i}.yaml`, text] as const);
    const extended = await startSignalbox({ policy: Object.fromEntries([...shipped, ...examples]) });
    const models = (await (await extended.get('/v1/models')).json()) as { data: { id: string }[] };
    await extended.stop();
    expect(models.data.map(({ id }) => id)).toContain('my-model');
  });
});
