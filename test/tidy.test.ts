import { afterAll, describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { PURE } from './support/pure-rooms.ts';
import { temporaryFolder } from './support/signalbox.ts';

/** The rules of imports between the rooms of `src`. What a file may not do alone is in `biome.json`. */
const ROOT = join(import.meta.dir, '..');

/** Rooms that only `main.ts` brings together. */
const APART = [
  ['server', 'cli'],
  ['cli', 'server'],
] as const;

/** A room is a folder of `src`. It may import itself and every room of an earlier layer, but for those that are APART. */
const LAYERS: readonly (readonly string[])[] = [
  ['core'],
  ['contract', 'accounting'],
  ['api', 'outbound', 'telemetry'],
  ['store'],
  [
    ...['alerts', 'policy', 'routing', 'tokenizer', 'ledger', 'access'],
    ...['upstream', 'records', 'plugin-host', 'importers'],
  ],
  ['runtime', 'payments'],
  ['prompt'],
  ['money'],
  ['exchange'],
  ['request'],
  ['surface'],
  ['operate', 'conformance'],
  ['admin'],
  ['http', 'cli'],
  ['server'],
  // In a browser; of the others it has only types (test/console/rules.test.ts).
  ['console'],
];

/** The files beside the rooms: they start the program, and no room knows them. */
const PROGRAM = ['src/commands.ts', 'src/main.ts'];

const roomOf = (path: string): string => path.split('/')[1] ?? '';
const layerOf = (path: string): number => LAYERS.findIndex((layer) => layer.includes(roomOf(path)));

/** An import of one file by another, both by their paths from the root; or of a package, by its name. */
interface Import {
  readonly from: string;
  readonly to: string;
}

/** Files that may not be imported from others. */
interface Rule {
  readonly name: string;
  readonly from: (path: string) => boolean;
  readonly to: (path: string, from: string) => boolean;
}

const isOfStore = (path: string): boolean => /^src\/store\/\w+\//.test(path);

const RULES: readonly Rule[] = [
  {
    name: 'a room imports only itself and rooms of earlier layers',
    from: (path) => path.startsWith('src/') && !PROGRAM.includes(path),
    to: (path, from) =>
      path.includes('/') &&
      (!path.startsWith('src/') ||
        PROGRAM.includes(path) ||
        APART.some(([one, other]) => one === roomOf(from) && other === roomOf(path)) ||
        (roomOf(path) !== roomOf(from) && layerOf(path) >= layerOf(from))),
  },
  {
    name: 'before the surfaces only the policy, whose cases are requests, knows the form of requests',
    from: (path) =>
      path.startsWith('src/') && layerOf(path) < layerOf('src/surface/') && !/^src\/(?:policy|api)\//.test(path),
    to: (path) => path.startsWith('src/api/'),
  },
  {
    name: 'of the rooms of a request and http, only the folders x402 know payments',
    from: (path) => /^src\/(?:prompt|money|exchange|request|http)\/(?!x402\/)/.test(path),
    to: (path) => /^src\/(?:payments|money\/x402)\//.test(path),
  },
  {
    name: 'only the store knows its implementations',
    from: (path) => !path.startsWith('src/store/'),
    to: isOfStore,
  },
  {
    name: 'the interfaces of the store know no implementation',
    from: (path) => /^src\/store\/[^/]+$/.test(path) && path !== 'src/store/open.ts',
    to: isOfStore,
  },
  {
    name: 'only what starts a store opens one',
    from: (path) => layerOf(path) < layerOf('src/operate/') && !PROGRAM.includes(path),
    to: (path) => path === 'src/store/open.ts',
  },
  {
    name: 'no dialect imports from the folder of another; they share by `api/`',
    from: (path) => /^src\/surface\/(?!openai-chat\/)[^/]+\//.test(path),
    to: (path, from) => /^src\/surface\/[^/]+\//.test(path) && path.split('/')[2] !== from.split('/')[2],
  },
  {
    name: 'plugins import each other and `signalbox/plugin`, nothing else',
    from: (path) => path.startsWith('plugins/'),
    to: (path) => path !== 'src/contract/plugin.ts' && !path.startsWith('plugins/'),
  },
];

const forbidden = ({ from, to }: Import): readonly string[] =>
  RULES.filter((rule) => rule.from(from) && rule.to(to, from)).map(({ name }) => name);

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^'"\n;]*?(?:\{[^}]*\})?[^'"\n;]*?from\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]|(?:^|\n)import\s*['"]([^'"]+)['"]/g;

function fileAt(from: string, target: string): string {
  if (target === 'signalbox/plugin') return 'src/contract/plugin.ts';
  return target.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(from), target)) : target.split('/')[0]!;
}

const importsIn = (from: string, text: string): readonly Import[] =>
  [...text.matchAll(IMPORT)].map((match) => ({ from, to: fileAt(from, match[1] ?? match[2] ?? match[3] ?? '') }));

interface Source {
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

const sourcesIn = (folder: string): Source[] =>
  readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter(({ name, parentPath }) => /\.tsx?$/.test(name) && !parentPath.includes('/node_modules'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .map((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8');
      return { path, text, imports: importsIn(path, text) };
    });
const sources = ['src', 'plugins'].flatMap(sourcesIn);

describe('imports', () => {
  test('every folder of src is a room of a layer', () => {
    const homeless = sources.filter(({ path }) => path.startsWith('src/') && layerOf(path) < 0);
    expect(homeless.map(({ path }) => path).sort()).toEqual(PROGRAM);
  });

  test('break no rule', () => {
    const found = sources
      .flatMap(({ imports }) => imports)
      .flatMap((one) => forbidden(one).map((rule) => `${one.from} → ${one.to}: ${rule}`));
    expect(found).toEqual([]);
  });

  test.each([
    ['src/core/a.ts', '../routing/b.ts'],
    ['src/core/a.ts', '../main.ts'],
    ['src/server/a.ts', '../cli/b.ts'],
    ['src/http/a.ts', '../../test/b.ts'],
    ['src/request/a.ts', '../api/b.ts'],
    ['src/money/a.ts', './x402/b.ts'],
    ['src/ledger/a.ts', '../store/sqlite/b.ts'],
    ['src/store/a.ts', './postgres/b.ts'],
    ['src/ledger/a.ts', '../store/open.ts'],
    ['src/surface/openai-responses/a.ts', '../openai-chat/b.ts'],
    ['plugins/providers/a.ts', '../../src/core/b.ts'],
    ['plugins/providers/a.ts', 'node:fs'],
  ])('%s may not import %s, in any form', (from, target) => {
    const forms = [
      `import { a } from '${target}';`,
      `import type { A } from "${target}";`,
      `import {\n  a,\n} from '${target}';`,
      `export * from '${target}';`,
      `import '${target}';`,
      `const a = await import('${target}');`,
    ];
    for (const form of forms) expect([form, importsIn(from, `${form}\n`).flatMap(forbidden)]).not.toEqual([form, []]);
  });

  test('make no circle', () => {
    const importsOf = new Map(sources.map(({ path, imports }) => [path, imports.map(({ to }) => to)]));
    const reached = (start: string): ReadonlySet<string> => {
      const found = new Set<string>();
      const open = [...(importsOf.get(start) ?? [])];
      for (let file = open.pop(); file !== undefined; file = open.pop()) {
        if (found.has(file)) continue;
        found.add(file);
        open.push(...(importsOf.get(file) ?? []));
      }
      return found;
    };
    expect([...importsOf.keys()].filter((file) => reached(file).has(file))).toEqual([]);
  });
});

const NAMES = /\b(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s*from\s*['"]([^'"]+)['"]/g;
const WHOLE = /\*\s*(?:as\s+\w+\s+)?from\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g;
const VALUE = /^export (?:async )?(?:function\*? |const |class |enum )(\w+)/gm;

test('each exported value is imported by another file', () => {
  const all = [...sources, ...['test', 'bench', 'deploy'].flatMap(sourcesIn)];
  const used = new Set(
    all.flatMap(({ path, text }) =>
      [...text.matchAll(NAMES)].flatMap(([, names = '', target = '']) =>
        names.split(',').map((name) => `${fileAt(path, target)} ${name.replace(/^\s*type\s|\sas\s.*/g, '').trim()}`),
      ),
    ),
  );
  // An import of a whole file uses all of its exports.
  const whole = new Set(
    all.flatMap(({ path, text }) =>
      [...text.matchAll(WHOLE)].map(([, from, target = '']) => fileAt(path, from ?? target)),
    ),
  );
  const idle = sources
    // Each view of the console takes what it needs from a set of parts.
    .filter(({ path }) => path !== 'src/main.ts' && !whole.has(path) && roomOf(path) !== 'console')
    .flatMap(({ path, text }) => [...text.matchAll(VALUE)].map(([, name]) => `${path} ${name}`))
    .filter((one) => !used.has(one));
  expect(idle).toEqual([]);
});

describe('Biome', () => {
  const folder = temporaryFolder();
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Which of these files, each by its path from the root, Biome reports. */
  function reported(files: Readonly<Record<string, string>>): readonly string[] {
    for (const path of ['biome.json', 'test/support/pure.grit']) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      cpSync(join(ROOT, path), join(folder, path));
    }
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const biome = join(ROOT, 'node_modules/.bin/biome');
    const args = ['lint', '--vcs-enabled=false', '--reporter=github', '--max-diagnostics=none'];
    const { stdout } = Bun.spawnSync([biome, ...args], { cwd: folder });
    const found = [...stdout.toString().matchAll(/^::error .*\bfile=([^,]+),/gm)].map(([, file = '']) =>
      relative(folder, file),
    );
    return [...new Set(found)].sort();
  }

  test('refuses a clock, chance, the environment, the network and timers in every pure room, databases outside the store, and skipped tests', () => {
    const impure = [
      ...['Date.now()', 'new Date()', 'Math.random()', 'import.meta.dir', 'performance.now()', 'crypto.subtle'],
      ...['process.env', 'Bun.env', 'globalThis.name', "fetch('/')", 'setTimeout(String, 1)', 'queueMicrotask(String)'],
      ...["import('node:fs')", "import('bun:sqlite')", "import('bun')"],
    ];
    const ofRooms = PURE.flatMap((room) => impure.map((code, at) => [`${room}impure-${at}.ts`, code] as const));
    const wrong = Object.fromEntries(
      [
        ...ofRooms,
        ['src/ledger/timer.ts', 'setInterval(String, 1)'],
        ['src/server/fetch.ts', "fetch('/')"],
        ['src/ledger/sqlite.ts', "import('bun:sqlite')"],
        ['src/server/postgres.ts', "import('pg')"],
        ['src/store/postgres/other.ts', "import('pg')"],
        ['test/a.test.ts', "test.skip('a', () => {})"],
      ].map(([path, code]) => [path!, `export const one = ${code};\n`]),
    );
    const right = {
      'src/core/pure.ts': "// Date.now()\nexport const one = [new Date(1), 'Math.random()', Date.UTC(1)];\n",
      'src/store/sqlite/one.ts': "export const one = import('bun:sqlite');\n",
      'src/upstream/timer.ts': 'export const one = setTimeout(String, 1);\n',
    };
    expect(reported({ ...wrong, ...right })).toEqual(Object.keys(wrong).sort());
  });
});
