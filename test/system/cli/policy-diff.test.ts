import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openRecords } from '../../../src/gateway/records/records.ts';
import { openSqlite } from '../../../src/store/sqlite/database.ts';
import { recordsMigrations } from '../../../src/store/sqlite/records/schema.ts';
import { deeply, orDeeply } from '../../deep/deeply.ts';
import { waitFor } from '../../support/answers.ts';
import { runHere } from '../../support/run-here.ts';
import { cleanEnvironment, PROGRAM, runToEnd, temporaryFolder } from '../../support/signalbox.ts';

/** A repository with two commits. In the first, the selector `mine` chooses the worst model, in the second the best. */
let repository: string;
let data: string;

const policy = (price: string, quality: number, more = '') => `version: 1
plugins: [./plugins/thrifty.ts]
providers:
  sim: { adapter: simulated }
  alone: { adapter: simulated, serve: when_alone }
selectors:
  mine: { strategy: thrifty }
models:
  best: { provider: sim, price: { input: 3, output: 12 }, context_window: 100000, max_output: 8192, quality: { default: 0.9 } }
  good: { provider: sim, price: { ${price} }, context_window: 100000, max_output: 8192, quality: { default: ${quality} } }
${more}cases:
  - { name: usual, given: {}, expect: { model: best } }
  - { name: mine, given: { model: mine }, expect: { model: good } }
unstated_quality: default
`;

const STRATEGY = `import { defineStrategy, Type } from 'signalbox/plugin';
import { sign } from './sign.ts';
export const thrifty = defineStrategy({
  name: 'thrifty', status: 'alpha', options: Type.Object({}),
  prepare: () => ({
    reason: 'contrary',
    score: ({ n, quality }, out) => { for (let i = 0; i < n; i++) out[i] = sign * quality[i]; },
  }),
});
`;

/** The policy without its own strategy. */
const plain = (text: string) =>
  text.replace(/plugins:.*\n|selectors:\n.*\n/g, '').replace(/ {2}- \{ name: mine.*\n/, '');

const BEFORE = policy('input: 1, output: 4', 0.8);
const AFTER = policy('input: 1.5, output: 4', 0.95);

const REQUESTS = [
  { messages: [{ role: 'user', content: 'Why are there tides?' }], max_tokens: 100 },
  { name: 'nightly', count: 40, request: { model: 'mine', task_type: 'coding' }, key: { labels: { team: 'a' } } },
  { model: 'nosuch', messages: [{ role: 'user', content: 'hi' }] },
].map((one) => JSON.stringify(one));

function write(name: string, text: string): void {
  const file = join(repository, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

async function git(...args: string[]) {
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'commit.gpgsign=false'];
  const { code, err } = await runToEnd(['git', ...who, ...args], {}, repository);
  if (code !== 0) throw new Error(err);
}

/** Runs policy diff in the repository. @returns `left`: the files that remain in its own folder for temporary files */
async function diff(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const temporary = temporaryFolder();
  const command = [PROGRAM, 'policy', 'diff', ...args, '--data', data];
  const ended = await runToEnd(command, { TMPDIR: temporary, SIGNALBOX_POLICIES: 'policies', ...env }, repository);
  // If the command ends before it has removed its folder, another process removes the folder a moment later.
  await waitFor(() => readdirSync(temporary).length === 0).catch(() => {});
  const left = readdirSync(temporary);
  rmSync(temporary, { recursive: true, force: true });
  return { ...ended, left };
}

/**
 * Runs policy diff without a process, for tests that do not depend on the current folder or the end of the process. Relative names are in
 * the repository.
 */
const diffHere = (...args: string[]) => diffIn({}, ...args);

async function diffIn({ folder = join(repository, 'policies'), path = process.env.PATH }, ...args: string[]) {
  const at = args.map((one) =>
    /^(?:policies|plain|moved|other|worth|.*\.jsonl)$/.test(one) ? join(repository, one) : one,
  );
  return runHere(['policy', 'diff', ...at, '--policies', folder, '--data', data], { ...process.env, PATH: path });
}

async function keepRevision(revision: string, text: string): Promise<void> {
  const store = await openSqlite(join(data, 'signalbox.db'), [recordsMigrations]);
  const surroundings = { unset: [], plugins: [['./plugins/thrifty.ts', 'ffffffffffffffff'] as const] };
  const source = JSON.stringify([{ path: 'policies/p.yaml', text }]);
  await openRecords({ store, tables: store.records, now: Date.now }).saveRevision({
    revision,
    source,
    models: ['best', 'good'],
    surroundings,
  });
  await store.close();
}

beforeAll(async () => {
  repository = temporaryFolder();
  data = temporaryFolder();
  write('policies/p.yaml', BEFORE);
  write('policies/plugins/thrifty.ts', STRATEGY);
  write('policies/plugins/sign.ts', 'export const sign = -1;\n');
  write('loops/p.yaml', BEFORE.replace('thrifty.ts', 'loops.ts'));
  write('loops/plugins/loops.ts', "console.log('looping');\nfor (;;);\n");
  write('outside/p.yaml', BEFORE.replace('./plugins', '../../plugins'));
  write('broken/p.yaml', BEFORE.replace('max_output: 8192', 'max_output: many'));
  mkdirSync(join(repository, 'linked'));
  for (const name of ['p.yaml', 'plugins']) symlinkSync(`../policies/${name}`, join(repository, 'linked', name));
  await git('init', '-q');
  await git('add', '-A');
  await git('commit', '-qm', 'one');
  write('policies/p.yaml', AFTER);
  write('policies/plugins/sign.ts', 'export const sign = 1;\n');
  await git('commit', '-qam', 'two');
  write('requests.jsonl', `${REQUESTS.join('\n\n')}\n`);
});

afterAll(() => {
  for (const folder of [repository, data]) rmSync(folder, { recursive: true, force: true });
});

describe('signalbox policy diff', () => {
  test('policy diff shows which declarations differ, and which choices would differ at what cost', async () => {
    const [text, json] = await Promise.all([
      diff(['HEAD~1', '--requests', 'requests.jsonl']),
      diff(['HEAD~1:policies', 'HEAD:./linked', '--requests', 'requests.jsonl', '--json']),
    ]);
    expect(text).toMatchObject({ code: 2, err: '' });
    expect(text.out).toContain('HEAD~1 → policies');
    expect(text.out).toContain('  ~ models: good\n      ~ price.input: 1 → 1.5\n      ~ quality.default: 0.8 → 0.95\n');
    expect(text.out).toMatch(/~ plugins: \.\/plugins\/thrifty\.ts\n +~ code: \w{16} → \w{16}\n/);
    expect(text.out).toContain(
      'case `usual` (policies/p.yaml:12); held in HEAD~1, fails in policies\n    choice   best → good',
    );
    expect(text.out).toContain('fails    model: expected best, got good');
    expect(text.out).toContain('cost     6.3 → 2.35 Credits (-3.95, -62.7 %)');
    expect(text.out).toContain(
      'Decided differently: 1 of 2 cases and 1 of 42 requests; 1 case that held in HEAD~1 fails',
    );
    expect(text.out).toMatch(/^cases .* 7,033 *$/m);
    expect(text.out).not.toContain('\u001b');
    const told = JSON.parse(json.out);
    expect(told).toMatchObject({ a: { kind: 'git', loaded: true }, b: { kind: 'git' } });
    expect(told.cases).toMatchObject([{ name: 'usual', broken: [{ key: 'model', expected: 'best', got: 'good' }] }]);
    expect(told.requests).toMatchObject([{ line: 1, count: 1, a: { model: 'best' }, b: { model: 'good' } }]);
    expect(told.totals.requests).toMatchObject({
      count: 42,
      different: 1,
      answered_by_both: 41,
      a: { refused: 1 },
      b: { refused: 1 },
    });
    expect([text.left, json.left]).toEqual([[], []]);
  });

  deeply(
    '`policy diff` with a commit uses the folder that it is compared with, if no other folder is set',
    async () => {
      const { code, out } = await diff(['HEAD~1', 'policies'], { SIGNALBOX_POLICIES: '' });
      expect(code).toBe(2);
      expect(out).toContain('case `usual` (policies/p.yaml:12); held in HEAD~1, fails in policies');
    },
  );

  test('policy diff names a removed rule that affects no case, and says so', async () => {
    const rule = 'constraints:\n  - { name: legal, when: key.labels.team == "legal", max_cost_credits: 5 }\n';
    write('ruled/p.yaml', `${plain(BEFORE)}${rule}`);
    write('unruled/p.yaml', plain(BEFORE));
    const [from, to] = [join(repository, 'ruled'), join(repository, 'unruled')];
    const alone = await diffHere(from, to);
    expect(alone.code).toBe(0);
    expect(alone.out).toContain('  - constraints: legal\n');
    expect(alone.out).toContain('Changed decisions\n  nothing: the changes above affect no case.');
    const compared = await diffHere(from, to, '--requests', 'requests.jsonl');
    expect(compared.err).toBe('');
    expect(compared.out).toContain('nothing: the changes above affect no case and no request of the file.');
    expect((await diffHere(to, to)).out).toContain('Changed decisions\n  nothing\n');
  });

  test('policy diff --strict counts every different choice as a finding', async () => {
    const lax = (text: string) => plain(text).replace('expect: { model: best }', 'expect: { quality_above: 0.5 }');
    write('plain/p.yaml', lax(BEFORE));
    write('moved/p.yaml', lax(AFTER));
    const [lenient, strict] = [await diffHere('plain', 'moved'), await diffHere('plain', 'moved', '--strict')];
    expect(lenient.out).toContain('case `usual` (');
    expect([lenient.code, strict.code]).toEqual([0, 2]);
  });

  test('policy diff runs the plugins of each commit, but no commands from the repository’s configuration', async () => {
    const trap = join(repository, 'trap');
    appendFileSync(
      join(repository, '.git/config'),
      `[core]\n\tfsmonitor = "touch ${trap}; false"\n\tpager = touch ${trap}\n[filter "t"]\n\tsmudge = touch ${trap}\n\tclean = touch ${trap}\n[diff "t"]\n\ttextconv = touch ${trap}\n[alias]\n\tcat-file = "!touch ${trap}"\n`,
    );
    write('.gitattributes', '* filter=t diff=t\n');
    // The environment of a hook must not make git use another repository, either.
    const { out, code } = await diff(['HEAD~1', '--json'], { GIT_DIR: '/nowhere', GIT_INDEX_FILE: '/nowhere' });
    expect(code).toBe(2);
    // With the sign of the first commit, `mine` chooses the worst model, which was `good` at that time.
    expect(JSON.parse(out).cases).toHaveLength(1);
    expect(JSON.parse(out).totals.cases).toMatchObject({ a: { quality: 0.85 }, b: { quality: 0.95 } });
    expect(existsSync(trap)).toBe(false);
    rmSync(join(repository, '.gitattributes'));
  });

  test('policy diff leaves the repository of a commit unchanged', async () => {
    const state = async () => {
      const files = readdirSync(join(repository, '.git'), { recursive: true, encoding: 'utf8' }).sort();
      return [files, (await runToEnd(['git', 'status', '--porcelain'], {}, repository)).out];
    };
    const before = await state();
    expect((await diffHere('HEAD~1', 'HEAD')).code).toBe(2);
    expect(await state()).toEqual(before);
  });

  test.each(['sha1', 'sha256'])(
    'policy diff reads the top folder of a repository with %s, and reports what a commit lacks',
    async (format) => {
      const own = temporaryFolder();
      const run = async (...args: string[]) => {
        const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'commit.gpgsign=false'];
        const { code, out, err } = await runToEnd(['git', ...who, ...args], {}, own);
        if (code !== 0) throw new Error(err);
        return out.trim();
      };
      const save = async () => {
        await run('add', '-A');
        await run('commit', '-qm', 'next');
      };
      await run('init', '-q', `--object-format=${format}`);
      writeFileSync(join(own, 'p.yaml'), plain(BEFORE));
      await save();
      expect(await diffIn({ folder: own }, 'HEAD', '--json')).toMatchObject({ code: 0, err: '' });
      symlinkSync(join(own, 'p.yaml'), join(own, 'today.yaml'));
      await save();
      expect((await diffIn({ folder: own }, 'HEAD', 'HEAD')).out).toMatch(/HEAD:today\.yaml.* cannot be read/);
      const blob = await run('rev-parse', 'HEAD:p.yaml');
      rmSync(join(own, '.git/objects', blob.slice(0, 2), blob.slice(2)));
      expect(await diffIn({ folder: own }, 'HEAD')).toMatchObject({
        code: 1,
        err: expect.stringMatching(/git cannot read all of HEAD: .*p\.yaml/),
      });
      rmSync(own, { recursive: true });
    },
  );

  test('policy diff shows a section with a single value in one line, and adds no unit to a missing figure', async () => {
    const text = `strong_from: 0.2\n${plain(BEFORE)}`;
    const refusing = 'constraints: [{ name: no, require: model.price.output > 12.0 }]';
    write('plain/p.yaml', text);
    write(
      'moved/p.yaml',
      `${text.replace('0.2', '0.3').replace('output: 4', 'output: 14')}${refusing}\n`.replace(
        'given: {}',
        'given: { model: best }',
      ),
    );
    const { out } = await diffHere('plain', 'moved');
    expect(out).toContain('\n  ~ strong_from: 0.2 → 0.3\n');
    expect(out).toContain('    cost     6.3 Credits → none\n    latency  7,033 ms → none\n    quality  0.900 → none\n');
  });

  test('policy diff finds no difference between policies that are only written differently', async () => {
    const lines = AFTER.split('\n');
    const at = lines.findIndex((line) => line.startsWith('  best:'));
    const swapped = lines.toSpliced(at, 2, lines[at + 1]!, `${lines[at]} # as before`);
    write('other/b.yaml', swapped.join('\n'));
    for (const name of ['thrifty.ts', 'sign.ts']) {
      write(`other/plugins/${name}`, await Bun.file(join(repository, 'policies/plugins', name)).text());
    }
    const { out, code } = await diffHere('HEAD', 'other', '--strict', '--requests', 'requests.jsonl', '--json');
    expect(JSON.parse(out)).toMatchObject({ changes: [], cases: [], requests: [], moves: [] });
    expect(code).toBe(0);
  });

  test('policy diff finds stored revisions by a part of their name, and checks their plugin code by its hash', async () => {
    await keepRevision('abcdef0123456789', plain(BEFORE));
    await keepRevision('abcdef0999999999', AFTER.replace('price', 'prise'));
    await keepRevision('0123456789abcdef', BEFORE);
    write('plain/p.yaml', plain(AFTER));
    const one = await diffHere('abcdef01', 'plain', '--json');
    const two = await diffHere('abcdef', 'plain');
    const code = await diffHere('plain', '012345');
    expect(JSON.parse(one.out)).toMatchObject({
      a: { name: 'abcdef0123456789', kind: 'revision' },
      cases: [{ name: 'usual' }],
    });
    expect(one.code).toBe(2);
    expect(two).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /More than one revision begins with abcdef: abcdef0\d+, abcdef0\d+\. Give more digits\.\n$/,
      ),
    });
    expect(code.out).toMatch(/0123456789abcdef:policies\/p\.yaml:2:11 {2}plugin-.*\n/);
    expect(code.out).toContain('its code is missing or has changed since');
    expect(code.code).toBe(2);
  });

  test('a later policy that cannot be loaded is a finding; an earlier one makes a comparison of decisions impossible', async () => {
    const [earlier, outside] = await Promise.all([diff(['HEAD:broken']), diff(['HEAD', 'HEAD:outside'])]);
    expect(earlier.code).toBe(1);
    expect(earlier.out).toContain('~ max_output: many → 8192');
    expect(earlier.out).toContain('HEAD:broken/p.yaml:9:');
    expect(earlier.err).toBe('signalbox: HEAD:broken cannot be loaded, so only the declarations were compared.\n');
    expect(outside.code).toBe(2);
    expect(outside.out).toContain(
      '../plugins/thrifty.ts is not in the repository, so its earlier version cannot be loaded',
    );
    expect([earlier.left, outside.left]).toEqual([[], []]);
  });

  test('policy diff shows a renamed item as renamed, not as removed and added', async () => {
    const text = plain(AFTER);
    write('renamed-a/p.yaml', text);
    write('renamed-b/p.yaml', text.replaceAll('name: usual', 'name: the usual one'));
    const folders = [join(repository, 'renamed-a'), join(repository, 'renamed-b')];
    const [told, json] = await Promise.all([diffHere(...folders), diffHere(...folders, '--json')]);
    expect(told.out).toContain('  ~ cases: usual → the usual one, renamed, otherwise the same\n');
    expect(told.out).not.toContain('+ cases');
    expect(JSON.parse(json.out).renamed).toEqual([{ section: 'cases', from: 'usual', to: 'the usual one' }]);
  });

  test('policy diff says in one sentence why it cannot run', async () => {
    const bad = (line: string) => {
      const name = `bad-${line.length}.jsonl`;
      write(name, `${REQUESTS[0]}\n${line}\n`);
      return diffHere('policies', '--requests', name);
    };
    writeFileSync(join(repository, 'bytes.jsonl'), Buffer.from([...Buffer.from(`${REQUESTS[0]}\n{`), 0xff, 0x0a]));
    const message = { role: 'user', content: 7 };
    const runs: readonly (readonly [ReturnType<typeof diffHere>, RegExp])[] = [
      [diffHere(), /policy diff needs one or two policies: folders, revisions or commits/],
      [
        diffHere('nope'),
        /There is no policy nope: no such folder exists, it is not a revision .*, and git knows no commit `nope` in \/.*\.$/,
      ],
      [diff(['HEAD:nope']), /HEAD has no folder nope in .*\. Name another folder as HEAD:path\/to\/folder\.$/],
      [diff(['HEAD:../x']), /HEAD:\.\.\/x: that folder is not in the repository/],
      [diffHere('./nope'), /The policy folder \.\/nope cannot be read: there is no such file or folder\.$/],
      [
        diffIn({ path: '/nowhere' }, 'HEAD'),
        /git finds no such commit: git is not installed\. Install git, .*name its folder\.$/,
      ],
      [diffIn({ folder: data }, 'HEAD'), /git finds no such commit: not a git repository/],
      [
        bad('{"request": {"messages": []}, "count": 0}'),
        /bad-\d+\.jsonl:2: `count` must be a whole number from 1 to 1000000000\.$/,
      ],
      [
        bad('{"model": 5, "task_type": "coding"}'),
        /bad-\d+\.jsonl:2: `model` must be a string or null, not the number 5\.$/,
      ],
      [bad(JSON.stringify({ request: { messages: [message] } })), /bad-\d+\.jsonl:2: `messages\[0\]\.content` must be/],
      [
        bad('{"request": {}, "time": "noon"}'),
        /bad-\d+\.jsonl:2: `time` must be a time with its offset, such as 2026-11-20T08:00:00Z/,
      ],
      [diffHere('policies', '--requests', 'bytes.jsonl'), /bytes\.jsonl:2: the line is not UTF-8\.$/],
      [bad('{'), /bad-\d+\.jsonl:2: the line is not JSON\. Write one request as JSON on each line\.$/],
      [diffHere('policies', '--requests', 'nope.jsonl'), /--requests: .*nope\.jsonl cannot be read\.$/],
    ];
    for (const [run, expected] of runs) {
      const { code, out, err } = await run;
      expect({ code, out, err: err.trim() }).toEqual({ code: 1, out: '', err: expect.stringMatching(expected) });
    }
  });

  test('policy diff reads requests in the documented form, and ignores empty lines', async () => {
    const page = await Bun.file(join(import.meta.dir, '../../../docs/policies/testing.md')).text();
    const [, written = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
    const line = JSON.stringify(JSON.parse(written));
    write('page.jsonl', `\n${line}\n\n${line}`);
    const { out, code } = await diffHere('policies', '--requests', 'page.jsonl', '--json');
    expect(JSON.parse(out).totals.requests).toMatchObject({ count: 800, different: 0 });
    expect(code).toBe(0);
  });

  test.each(orDeeply<'SIGINT' | 'SIGTERM' | 'SIGKILL'>(['SIGINT'], ['SIGTERM', 'SIGKILL']))(
    'policy diff is ended by %s, even while a plugin loops, and leaves no files',
    async (signal) => {
      const temporary = temporaryFolder();
      const env = cleanEnvironment({ TMPDIR: temporary });
      const child = Bun.spawn([PROGRAM, 'policy', 'diff', 'HEAD:loops', 'policies'], {
        cwd: repository,
        env,
        stderr: 'pipe',
      });
      for await (const _ of child.stderr) break;
      expect(readdirSync(temporary)).toHaveLength(1);
      child.kill(signal);
      await child.exited;
      expect(child.signalCode).toBe(signal);
      await waitFor(() => readdirSync(temporary).length === 0 || undefined);
    },
  );

  test('policy diff compares in USD if the value of a Credit differs, and shows no secret', async () => {
    const secret = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789';
    write(
      'worth/p.yaml',
      AFTER.replace('\n', `\ncredits: { usd_per_credit: 0.002 }\n`).replace('plugins: [./', 'plugins: [../policies/'),
    );
    write('named.jsonl', JSON.stringify({ name: secret, request: { task_type: 'coding' } }));
    const text = await diffHere('HEAD~1', 'worth', '--requests', 'named.jsonl');
    const json = await diffHere('policies', 'worth', '--requests', 'named.jsonl', '--json');
    expect(text.out).toContain('cost     6.3 → 1.175 Credits, 0.0063 → 0.00235 USD (-0.00395, -62.7 %)');
    expect(text.out).toContain(
      `A Credit is worth 0.001 USD in HEAD~1 and 0.002 USD in ${join(repository, 'worth')}, so costs are compared in USD.`,
    );
    expect(text.out).toContain('request [secret]');
    for (const { out } of [text, json]) expect(out).not.toContain(secret);
  });
});
