import { afterEach, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deeply } from '../../deep/deeply.ts';
import { eventsOf, waitFor } from '../../support/answers.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import { runHere } from '../../support/run-here.ts';
import { runCommand, type Signalbox, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';

/** Code that fails where no caller can catch the error: in a promise without await, or in a timer. */
const PATIENCE = 30_000;
const TEMPLATES = join(import.meta.dir, '../../../src/tools/plugin/templates');

const upstream = useUpstream();
const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A strategy that decides correctly, and also fails in the way that its option names. */
const UNRULY = `import { defineStrategy, Type } from 'signalbox/plugin';
const shut = { get() { throw new Error('not to be read'); } };
const fail = async (how) => {
  if (how === 'error') throw new Error('lost in an async function, with ${UPSTREAM_KEY}');
  if (how === 'text') throw 'no error at all';
  if (how === 'hostile') throw Object.defineProperties(new Error('hostile'), { stack: shut, message: shut });
  if (how === 'proxy') throw new Proxy({}, { get() { throw new Error('no'); }, getPrototypeOf() { throw new Error('no'); } });
};
export const unruly = defineStrategy({
  name: 'unruly',
  status: 'alpha',
  options: Type.Object({ how: Type.String() }),
  prepare: ({ how }) => ({
    reason: 'unruly',
    score({ n, quality }, out) {
      for (let i = 0; i < n; i++) out[i] = quality[i];
      if (how === 'flood') for (let i = 0; i < 1000; i++) void fail('error');
      else if (how === 'timer') for (const ms of [0, 200]) setTimeout(() => { throw new Error('thrown by a timer'); }, ms);
      else void fail(how);
    },
  }),
});
`;

const WAYS = ['none', 'error', 'text', 'hostile', 'proxy', 'flood', 'timer'];

/** A policy folder with a custom plugin, and a selector for each way in which the plugin fails. */
function policyFolder(code: string, more = ''): string {
  const folder = temporaryFolder();
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'plugins'));
  writeFileSync(join(folder, 'plugins/unruly.ts'), code);
  const selectors = WAYS.map((how) => `  ${how}: { strategy: unruly, options: { how: ${how} } }\n`).join('');
  const rest = `plugins: [./plugins/unruly.ts]\nselectors:\n${selectors}${more}`;
  writeFileSync(
    join(folder, 'policy.yaml'),
    testPolicy({ first: upstream.url }, { best: { endpoints: ['first'] } }, rest),
  );
  return folder;
}

async function start(code = UNRULY, more = '', args: readonly string[] = []): Promise<Signalbox> {
  const box = await startSignalbox({
    isProcess: true,
    env: UPSTREAM_ENV,
    args: ['--policies', policyFolder(code, more), ...args],
  });
  cleanUps.push(() => box.stop());
  return box;
}

const hello = [{ role: 'user', content: 'Say hello.' }];
const route = (box: Signalbox, how: string) => box.post('/v1/route', { model: how, messages: hello });

interface Line {
  readonly level: string;
  readonly message: string;
  readonly plugin: string;
  readonly suppressed?: number;
  readonly stack: string;
}

const linesOf = (box: Signalbox, message: string): Line[] =>
  box.lines.filter((line) => line.includes(`"${message}"`)).map((line) => JSON.parse(line));
const REJECTED = 'unhandled promise rejection';
const UNCAUGHT = 'uncaught exception: the server stops';

async function rejections(box: Signalbox): Promise<Record<string, number>> {
  const page = await (await fetch(`${box.url}/metrics`)).text();
  const found = [...page.matchAll(/^signalbox_unhandled_rejections_total\{plugin="([^"]*)"\} (\d+)$/gm)];
  return Object.fromEntries(found.map(([, plugin, count]) => [plugin, Number(count)]));
}

/** Opens streams that continue for a second. Each stream resolves with its text, or with `cut`. */
async function openStreams(box: Signalbox, count: number) {
  upstream.next(...Array(count).fill({ text: ['a ', 'long ', 'answer'], betweenChunksMs: 600 }));
  const open = await Promise.all(
    Array.from({ length: count }, () =>
      box.post('/v1/chat/completions', { model: 'best', messages: hello, stream: true }),
    ),
  );
  return open.map(async (stream) => {
    const { chunks, done } = await eventsOf(stream);
    return done ? chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('') : 'cut';
  });
}

describe('a rejected promise of a plugin without a handler', () => {
  test(
    'ends nothing: the server logs it without secrets, counts it for the plugin, and continues all open streams',
    async () => {
      const box = await start();
      expect(await rejections(box)).toEqual({ none: 0 });
      const streams = await openStreams(box, 5);
      expect((await route(box, 'error')).status).toBe(200);
      const line = await waitFor(() => linesOf(box, REJECTED)[0]);
      expect(line).toMatchObject({ level: 'error', plugin: './plugins/unruly.ts' });
      expect(line.stack).toContain('lost in an async function, with [secret]');
      expect(box.lines.join('\n')).not.toContain(UPSTREAM_KEY);
      expect(await Promise.all(streams)).toEqual(Array(5).fill('a long answer'));
      for (const how of ['text', 'hostile', 'proxy']) expect((await route(box, how)).status).toBe(200);
      await waitFor(() => linesOf(box, REJECTED).length === 4);
      expect(
        linesOf(box, REJECTED)
          .map(({ stack }) => stack)
          .slice(1),
      ).toEqual(['no error at all', 'Error', 'a value without a stack']);
      // A value that is not an Error has no stack, and a hostile value shows none.
      expect(await rejections(box)).toEqual({ none: 3, './plugins/unruly.ts': 1 });
      expect((await box.get('/readyz')).status).toBe(200);
      box.signal('SIGTERM');
      expect(await box.exited).toBe(0);
    },
    PATIENCE,
  );

  test(
    'is counted a thousand times, but logged at most ten times a minute',
    async () => {
      const box = await start();
      expect((await route(box, 'flood')).status).toBe(200);
      await waitFor(async () => (await rejections(box))['./plugins/unruly.ts'] === 1000);
      await waitFor(() => linesOf(box, REJECTED).length >= 10);
      expect(linesOf(box, REJECTED)).toHaveLength(10);
    },
    PATIENCE,
  );

  const inTemplate = (kind: string, before: string): string => {
    const text = readFileSync(join(TEMPLATES, kind, 'index.ts'), 'utf8');
    const fails = `void (async () => { throw new Error('lost in ${kind}'); })();\n`;
    expect(text).toContain(before);
    return text.replace(before, `${fails}${before}`);
  };

  deeply(
    'the same applies to a rejected promise of an adapter',
    async () => {
      const adapter = inTemplate('provider', 'const messages:');
      const folder = policyFolder(UNRULY);
      const policy = readFileSync(join(folder, 'policy.yaml'), 'utf8')
        .replace('plugins: [', 'plugins: [./plugins/adapter.ts, ')
        .replace(
          '\nmodels:\n',
          `\nmodels:\n  odd: { provider: odd, price: { input: 1, output: 4 }, context_window: 8192, max_output: 512, quality: { default: 0.5 } }\n`,
        )
        .replace(
          'providers:\n',
          `providers:\n  odd: { adapter: example, base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY }\n`,
        );
      writeFileSync(join(folder, 'policy.yaml'), policy);
      writeFileSync(join(folder, 'plugins/adapter.ts'), adapter);
      const box = await startSignalbox({ isProcess: true, env: UPSTREAM_ENV, args: ['--policies', folder] });
      cleanUps.push(() => box.stop());
      await box.post('/v1/chat/completions', { model: 'odd', messages: hello });
      const counts = await waitFor(async () => {
        const found = await rejections(box);
        return found['./plugins/adapter.ts'] ? found : null;
      });
      expect(counts.none).toBe(0);
      expect((await route(box, 'none')).status).toBe(200);
    },
    PATIENCE,
  );

  test(
    'does not stop the start of the server if it happens while the plugin is loaded',
    async () => {
      const box = await start(`${UNRULY}\nvoid fail('error');\nawait new Promise((done) => setTimeout(done, 50));\n`);
      expect((await route(box, 'none')).status).toBe(200);
      expect(linesOf(box, REJECTED)).toMatchObject([{ plugin: './plugins/unruly.ts' }]);
      expect((await rejections(box))['./plugins/unruly.ts']).toBe(1);
    },
    PATIENCE,
  );

  test(
    'makes a command exit with 1 and one sentence, not with a crash',
    async () => {
      const folder = policyFolder(UNRULY);
      const cases = 'cases: [{ name: one, given: { model: error }, expect: { model: best } }]\n';
      writeFileSync(join(folder, 'cases.yaml'), cases);
      for (const command of ['check', 'test']) {
        const { code, out, err } = await runCommand(['policy', command, folder], UPSTREAM_ENV);
        expect(err).toBe(
          'signalbox: The plugin `./plugins/unruly.ts` left a promise rejection unhandled: Error: lost in an async function, with [secret]\n',
        );
        expect([code, out]).toEqual([1, expect.stringMatching(command === 'test' ? /1 case: 1 hold/ : /\S/)]);
      }
    },
    PATIENCE,
  );
});

describe('an uncaught exception', () => {
  test(
    'makes the server refuse new requests, finish running ones, and exit with 1; a second exception cuts off nothing',
    async () => {
      const box = await start();
      const streams = await openStreams(box, 3);
      // The second failure comes while the server drains because of the first.
      await route(box, 'timer');
      const lines = await waitFor(() => {
        const found = linesOf(box, UNCAUGHT);
        return found.length === 2 ? found : null;
      });
      expect(lines[0]).toMatchObject({ level: 'error', plugin: './plugins/unruly.ts' });
      expect(lines[0]?.stack).toContain('thrown by a timer');
      expect(linesOf(box, 'draining')).toHaveLength(1);
      expect(await fetch(`${box.url}/healthz`).catch((error: { code?: string }) => error.code)).toBe('ECONNREFUSED');
      // A supervisor may send SIGTERM at this time, which must not cut streams either.
      box.signal('SIGTERM');
      expect(await Promise.all(streams)).toEqual(Array(3).fill('a long answer'));
      expect(await box.exited).toBe(1);
      expect(linesOf(box, 'stopped')).toHaveLength(1);
      const audit = await runHere(['ledger', 'audit', '--idle', '--data', box.data]);
      expect(audit).toMatchObject({ code: 0, out: expect.stringContaining('nothing wrong') });
    },
    PATIENCE,
  );

  deeply(
    'an uncaught exception during the loading of a plugin ends the start with one sentence',
    async () => {
      const thrown = "setTimeout(() => { throw new Error('thrown by a timer'); }, 0);";
      const folder = policyFolder(`${UNRULY}\n${thrown}\nawait new Promise((done) => setTimeout(done, 1000));\n`);
      const data = temporaryFolder();
      cleanUps.push(() => rmSync(data, { recursive: true, force: true }));
      const served = await runCommand(['serve', '--port', '0', '--data', data, '--policies', folder], UPSTREAM_ENV);
      expect(served.err).toContain(
        'signalbox: An uncaught exception stopped the start. The log has the stack trace.\n',
      );
      expect([served.code, served.out]).toEqual([1, expect.stringContaining('thrown by a timer')]);
      const checked = await runCommand(['policy', 'check', folder], UPSTREAM_ENV);
      expect(checked).toEqual({
        code: 1,
        out: '',
        err: 'signalbox: The plugin `./plugins/unruly.ts` threw uncaught exception: Error: thrown by a timer\n',
      });
    },
    PATIENCE,
  );
});
