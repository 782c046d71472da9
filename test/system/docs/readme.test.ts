import { expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { deeply } from '../../deep/deeply.ts';
import { shippedPolicy } from '../../policy/support.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { startOwnServer } from '../../support/own-server.ts';
import { blocksOf, type PageBlock } from '../../support/page-blocks.ts';
import { runToEnd, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';
import { useSignalbox } from '../../support/use.ts';

/**
 * The test follows the two pages for newcomers block by block, in order, in one new shell. The test starts the server in place of `npm
 * start`, and pastes its key where the page says so.
 */
const ROOT = join(import.meta.dir, '../../..');
const START = blocksOf('docs/start.md');
const blocks = [...blocksOf('README.md'), ...START];

const box = useSignalbox();

/** A line between the output of two blocks. */
const MARK = '----- next block';

/** Saves a program in a file of the clone, with another address of the server. */
function saved({ text }: PageBlock, at: number | string, url: string): string {
  const file = join(ROOT, 'test/system/node_modules', `.readme-${process.pid}-${at}.ts`);
  writeFileSync(file, text.replaceAll('http://127.0.0.1:8787', url));
  return file;
}

/** Returns the commands of a block as the reader runs them. A program is saved in a file first. */
function commandsOf(block: PageBlock, at: number, written: string[]): string {
  const { language, text } = block;
  if (language === 'sh')
    return text
      .replaceAll(
        /^(?:(?:\w+=\S+ )?npm (?:start|test)|npm install --prefix|node_modules\/\.bin\/signalbox|git clone URL signalbox && cd signalbox\b).*$/gm,
        ':',
      )
      .replaceAll('sb_live_…', box.key);
  // Later tests save and run these programs; Python only in `npm run test:deep`, because `npm run test:system` needs only Node.
  if (language === 'yaml' || language === 'python' || language === 'json') return ':\n';
  const file = saved(block, at, box.url);
  written.push(file);
  return `bun ${file}\n`;
}

interface PlatformFacts {
  readonly decision_id: string;
}
const factsOf = (answer: string): object => (JSON.parse(answer) as { readonly platform: PlatformFacts }).platform;
/** The facts of a printed `platform` that another request has, too. */
const lastingFacts = (text: string): object => ({
  ...(JSON.parse(text) as PlatformFacts),
  decision_id: expect.stringMatching(/^dec_/),
});

test('every shell block of the start pages works as printed, after the blocks before it', async () => {
  expect(
    blocks
      .map(({ language }) => language)
      .filter((language) => !['sh', 'ts', 'python', 'yaml', 'json'].includes(language)),
  ).toEqual([]);
  const written: string[] = [];
  const script = blocks
    .map((block, at) => commandsOf(block, at, written))
    .join(`echo '${MARK}'\n`)
    .replaceAll('http://127.0.0.1:8787', box.url);
  try {
    const { code, out, err } = await runToEnd(['sh', '-euc', script], { SIGNALBOX_DATA: box.data }, ROOT);
    expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
    const outputs = out.split(`${MARK}\n`);
    expect(outputs).toHaveLength(blocks.length);
    expect(out).not.toContain('"error"');
    for (const [at, { language, text }] of blocks.entries()) {
      if (/curl|policy explain/.test(text) || language === 'ts') expect(outputs[at]!.length, text).toBeGreaterThan(20);
      if (language === 'json') expect(factsOf(outputs[at - 1]!), text).toMatchObject(lastingFacts(text));
      if (language === 'ts' || text.includes('/v1/chat/completions')) expect(outputs[at], text).toContain('simulated');
    }
  } finally {
    for (const file of written) rmSync(file);
  }
});

/** Runs the first block of `docs/start.md` in a language. Returns the body that the first request sends and its output. */
async function firstRequest(language: string, command: (block: PageBlock, url: string) => readonly string[]) {
  const bodies: unknown[] = [];
  const server = startOwnServer(async (request) => {
    bodies.push([new URL(request.url).pathname, request.headers.get('authorization'), await request.json()]);
    const message = { role: 'assistant', content: 'Hello from the gateway.' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    return Response.json({ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'first', choices });
  });
  const isCall = ({ text }: PageBlock) => language !== 'sh' || text.includes('/v1/chat/completions');
  const block = START.find((each) => each.language === language && isCall(each));
  try {
    const { out, err } = await runToEnd(command(block!, server.url), { SIGNALBOX_KEY: 'sb_live_of_a_reader' });
    return { bodies, out: out.trim(), err };
  } finally {
    await server.stop();
  }
}

const SENT = [
  [
    '/v1/chat/completions',
    'Bearer sb_live_of_a_reader',
    { model: 'auto', messages: [{ role: 'user', content: 'Say hello.' }] },
  ],
];

test('docs/start.md sends the same first request with curl and TypeScript', async () => {
  const curl = await firstRequest('sh', ({ text }, url) => [
    'sh',
    '-euc',
    text.replaceAll('http://127.0.0.1:8787', url),
  ]);
  expect(curl).toMatchObject({ bodies: SENT, out: expect.stringContaining('Hello from the gateway.') });
  let file = '';
  try {
    const program = await firstRequest('ts', (block, url) => {
      file = saved(block, 'first', url);
      return ['bun', file];
    });
    expect(program).toEqual({ bodies: SENT, out: 'Hello from the gateway.', err: '' });
  } finally {
    rmSync(file, { force: true });
  }
});

deeply('docs/start.md sends the same first request with Python, by the client of PyPI', async () => {
  const folder = temporaryFolder();
  try {
    const python = join(folder, 'bin/python');
    await ends(['python3', '-m', 'venv', folder]);
    await ends([python, '-m', 'pip', 'install', '--quiet', 'openai']);
    const program = await firstRequest('python', (block, url) => {
      const file = join(folder, 'first.py');
      writeFileSync(file, block.text.replaceAll('http://127.0.0.1:8787', url));
      return [python, file];
    });
    expect(program).toMatchObject({ bodies: SENT, out: 'Hello from the gateway.' });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

async function ends(command: readonly string[]): Promise<void> {
  const { code, err } = await runToEnd(command, {});
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
}

test('with the policy for a server of your own, saved next to the shipped files, that server answers', async () => {
  const own = blocks.filter(({ language }) => language === 'yaml');
  expect(own).toHaveLength(1);
  const upstream = startFakeUpstream({ behaviour: { text: 'from a server of my own' } });
  const mine = own[0]!.text.replace('http://127.0.0.1:8000/v1', upstream.url);
  const shipped = shippedPolicy().map(({ path, text }) => [basename(path), text] as const);
  const policy = Object.fromEntries([...shipped, ['mine.yaml', mine] as const]);
  const started = await startSignalbox({ policy });
  try {
    for (const model of ['my-model', 'auto']) {
      const messages = [{ role: 'user', content: 'Say hello.' }];
      const answer = await started.post('/v1/chat/completions', { model, messages });
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('from a server of my own')]);
    }
  } finally {
    await started.stop();
    await upstream.stop();
  }
});
