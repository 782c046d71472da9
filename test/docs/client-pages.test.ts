import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { objectOf } from '../../plugins/providers/json.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { blocksOf } from '../support/page-blocks.ts';
import { cleanEnvironment, type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** The pages whose shell and YAML blocks run here. `npm run test:deep -- clients` runs the blocks in other languages. */
const PAGES = ['docs/clients/gemini.md', 'docs/clients/completions.md'];
const ADDRESS = 'http://127.0.0.1:8787';
/** Not every machine has the program. */
const UUIDGEN = 'uuidgen() { cat /proc/sys/kernel/random/uuid; }\n';

const blocks = (language: string) =>
  PAGES.flatMap((page) =>
    blocksOf(page).flatMap((block, at) =>
      block.language === language ? [{ title: `${page}, block ${at + 1}`, text: block.text }] : [],
    ),
  );

describe('a command of a page about a client', () => {
  let box: Signalbox;
  beforeAll(async () => {
    box = await startSignalbox();
  });
  afterAll(() => box.stop());

  test.each(blocks('sh'))('gets an answer with its price: $title', async ({ text }) => {
    const child = Bun.spawn(['bash', '-euc', UUIDGEN + text.replaceAll(ADDRESS, box.url)], {
      env: cleanEnvironment({ SIGNALBOX_KEY: box.key }),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [out, code] = [await new Response(child.stdout).text(), await child.exited];
    expect([code, objectOf(JSON.parse(out)).platform]).toMatchObject([0, { credits_consumed: expect.any(Number) }]);
  });
});

describe('a policy of a page about a client', () => {
  // A server without a key, as the page has it.
  const upstream = startFakeUpstream();
  afterAll(() => upstream.stop());

  test.each(blocks('yaml'))('serves a completion: $title', async ({ text }) => {
    const policy = `version: 1\n${text.replace(/base_url: \S+/, `base_url: "${upstream.url}"`)}`;
    const box = await startSignalbox({ policy });
    try {
      const answer = await box.post('/v1/completions', { model: 'auto', prompt: 'a', suffix: 'b' });
      expect([answer.status, upstream.requests.at(-1)!.path]).toEqual([200, '/v1/completions']);
    } finally {
      await box.stop();
    }
  });
});
