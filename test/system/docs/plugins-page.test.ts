import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { adviceOf, eventsOf } from '../../support/answers.ts';
import { type ParrotService, startParrot } from '../../support/parrot.ts';
import { runToEnd, type Signalbox, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';

/** The test follows docs/extend/plugins.md and adapters.md literally, from a folder outside the repository, as a reader would. */
const ROOT = join(import.meta.dir, '../../..');
const PAGE = ['plugins', 'adapters']
  .map((name) => readFileSync(join(ROOT, `docs/extend/${name}.md`), 'utf8'))
  .join('\n');

/** Returns the blocks with a language and mark, in order. */
function blocks(language: string, mark: string): string[] {
  const found = [...PAGE.matchAll(new RegExp(`^\`\`\`${language} ${mark}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))];
  return found.map(([, text = '']) => text);
}

function block(language: string, mark: string): string {
  const [text, ...more] = blocks(language, mark);
  if (text === undefined || more.length > 0)
    throw new Error(`docs/extend/plugins.md and adapters.md need one block \`${language} ${mark}\` together`);
  return text;
}

const folder = temporaryFolder();
let parrot: ParrotService;
let box: Signalbox | null = null;
beforeAll(() => {
  parrot = startParrot();
});
afterAll(async () => {
  await box?.stop();
  parrot.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a shell block as printed, except for the paths of the clone and the address of the server. */
async function run(text: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const setup = block('sh', 'setup').replace('~/signalbox', ROOT);
  const script = `${setup}\n${text}`.replaceAll('http://127.0.0.1:8787', box?.url ?? 'http://127.0.0.1:8787');
  const own = { SIGNALBOX_DATA: join(folder, '.data'), SIGNALBOX_KEY: box?.key ?? '' };
  const { code, out, err } = await runToEnd(['sh', '-ec', script], { ...own, ...env }, folder);
  expect({ code, told: code === 0 ? '' : out + err }).toEqual({ code: 0, told: '' });
  return out;
}

const save = (path: string, text: string) => writeFileSync(join(folder, path), text);

test('a reader can create, test, name and use the strategy of docs/extend/plugins.md as the page says', async () => {
  const [make, tryIt, explain] = blocks('sh', 'strategy');
  expect(await run(make!)).toContain('signalbox plugin test policies/plugins/thrifty/index.ts');
  save('policies/plugins/thrifty/index.ts', block('ts', 'strategy'));
  const tried = run(tryIt!);
  save('policies/thrifty.yaml', block('yaml', 'strategy'));
  const shown = run(explain!);
  box = await startSignalbox({ args: ['--policies', join(folder, 'policies')], env: parrot.env });
  const [outcome, explained] = await Promise.all([tried, shown]);
  expect(outcome).toContain('all 13 laws hold');
  expect(explained).toContain('costs least within 0.15 of the best quality');
  const answer = JSON.parse(await run(block('sh', 'strategy-request')));
  const advice = await adviceOf(await box.post('/v1/route', { model: 'auto-thrifty' }));
  // The cheapest simulated model within 0.15 of the best quality.
  expect(answer.platform).toMatchObject({ routed_model: 'sim-small', route_reason: 'auto-thrifty:usual' });
  expect(advice).toMatchObject({ recommended_model: 'sim-small', route_reason: 'auto-thrifty:usual' });
});

test('a reader can create, test, name and call the provider of docs/extend/adapters.md as the page says', async () => {
  const [make, tryIt] = blocks('sh', 'provider');
  await run(make!);
  save('policies/plugins/parrot/index.ts', block('ts', 'provider'));
  expect(await run(tryIt!, parrot.env)).toContain('all 21 laws hold');
  save('policies/parrot.yaml', block('yaml', 'provider'));
  await inForce('polly');
  const { chunks, done } = await eventsOf(new Response(await run(block('sh', 'provider-request'))));
  expect(done).toBe(true);
  expect(chunks.map(({ choices }) => choices?.[0]?.delta.content ?? '').join('')).toBe('Hello! Hello!');
  expect(chunks.at(-1)?.platform).toMatchObject({ routed_model: 'polly', estimated: false, dropped: [] });
  expect(parrot.asked.at(-1)).toMatchObject({ bird: 'polly', live: true, limit: expect.any(Number) });
});

/** Waits until the running server serves a model. */
async function inForce(model: string): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const models = await box?.get('/v1/models');
    if ((await models?.text())?.includes(`"${model}"`)) return;
    await Bun.sleep(50);
  }
  throw new Error(`${model} did not become active`);
}
