import { afterAll, describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { PURE } from './support/pure-rooms.ts';
import { temporaryFolder } from './support/signalbox.ts';

/** The rules for imports between the modules of `src`. `biome.json` has the rules for single files. */
const ROOT = join(import.meta.dir, '..');

/** Modules that only commands may combine. */
const APART = [['server', 'tools']] as const;

/**
 * The folders of `src` in the order of imports. A folder that is not named counts as its module. A folder may import itself and all folders
 * of earlier layers, except for the pairs in APART.
 */
const LAYERS: readonly (readonly string[])[] = [
  ['core'],
  ['contract', 'core/accounting'],
  ['core/api', 'host'],
  ['store'],
  ['routing'],
  ['dialects', 'admin/alerts', 'policy', 'ledger', 'access', 'providers', 'gateway/records', 'host/plugins'],
  ['policy/runtime', 'payments'],
  ['gateway/prompt', 'gateway/kinds'],
  ['gateway/money'],
  ['payments/funding', 'gateway/exchange'],
  ['gateway/guards'],
  ['gateway/cache'],
  ['gateway/request'],
  ['admin/use-cases'],
  ['admin'],
  ['http'],
  ['server', 'tools'],
  ['cli'],
  // The console runs in a browser and imports only types of other modules, and the words for money (test/console/rules.test.ts).
  ['console'],
];

/** The file outside all modules. It starts the program, and no module imports it. */
const PROGRAM = ['src/main.ts'];

const FOLDERS = LAYERS.flat().sort((a, b) => b.length - a.length);
/** The folder of LAYERS that contains a file; empty if there is none. */
const folderOf = (path: string): string => FOLDERS.find((one) => path.startsWith(`src/${one}/`)) ?? '';
const layerOf = (path: string): number => LAYERS.findIndex((layer) => layer.includes(folderOf(path)));
const moduleOf = (path: string): string => path.split('/')[1] ?? '';

/** An import of one file by another, as paths from the root; or of a package, by its name. */
interface Import {
  readonly from: string;
  readonly to: string;
}

/** A rule against imports from some files to others. */
interface Rule {
  readonly name: string;
  readonly from: (path: string) => boolean;
  readonly to: (path: string, from: string) => boolean;
}

const isOfStore = (path: string): boolean => /^src\/store\/\w+\//.test(path);

const RULES: readonly Rule[] = [
  {
    name: 'a folder imports only itself and folders of earlier layers',
    from: (path) => path.startsWith('src/') && !PROGRAM.includes(path),
    to: (path, from) =>
      path.includes('/') &&
      (!path.startsWith('src/') ||
        PROGRAM.includes(path) ||
        APART.some((pair) => pair.some((one, at) => one === folderOf(from) && pair[1 - at] === folderOf(path))) ||
        (folderOf(path) !== folderOf(from) && layerOf(path) >= layerOf(from))),
  },
  {
    name: 'of the modules before the use cases, only the dialects and the policy know the form of requests, because its cases are requests',
    from: (path) =>
      path.startsWith('src/') &&
      layerOf(path) < layerOf('src/admin/use-cases/') &&
      !/^src\/(?:dialects|policy|core\/api)\//.test(path),
    to: (path) => path.startsWith('src/core/api/'),
  },
  {
    name: 'the gateway does not import payments, and in http only the folder x402 does',
    from: (path) => /^src\/(?:gateway|http)\/(?!x402\/)/.test(path),
    to: (path) => path.startsWith('src/payments/'),
  },
  {
    name: 'only token sources call metadata services, which have the credentials of the machine',
    from: (path) => !/^src\/(?:host\/credentials\/|policy\/runtime\/token-sources\.ts)/.test(path),
    to: (path) => path === 'src/host/credentials/metadata.ts',
  },
  {
    name: 'only the store imports its implementations',
    from: (path) => !path.startsWith('src/store/'),
    to: isOfStore,
  },
  {
    name: 'the interfaces of the store import no implementation',
    from: (path) => /^src\/store\/[^/]+$/.test(path) && path !== 'src/store/open.ts',
    to: isOfStore,
  },
  {
    name: 'only code that starts a store opens one',
    from: (path) => layerOf(path) < layerOf('src/admin/use-cases/') && !PROGRAM.includes(path),
    to: (path) => path === 'src/store/open.ts',
  },
  {
    name: 'no dialect imports from the folder of another dialect; they share `core/api/`',
    from: (path) => /^src\/dialects\/(?!openai-chat\/)[^/]+\//.test(path),
    to: (path, from) => /^src\/dialects\/[^/]+\//.test(path) && path.split('/')[2] !== from.split('/')[2],
  },
  {
    name: 'plugins import only each other and `signalbox/plugin`',
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
  test('every file of src is in a folder of a layer', () => {
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
    ['src/server/a.ts', '../tools/b.ts'],
    ['src/policy/a.ts', './runtime/b.ts'],
    ['src/access/a.ts', '../host/credentials/metadata.ts'],
    ['src/http/a.ts', '../../test/b.ts'],
    ['src/gateway/request/a.ts', '../../core/api/b.ts'],
    ['src/gateway/money/a.ts', '../../payments/b.ts'],
    ['src/http/a.ts', '../payments/b.ts'],
    ['src/ledger/a.ts', '../store/sqlite/b.ts'],
    ['src/store/a.ts', './postgres/b.ts'],
    ['src/ledger/a.ts', '../store/open.ts'],
    ['src/dialects/openai-responses/a.ts', '../openai-chat/b.ts'],
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

  const inCircles = (nameOf: (path: string) => string): readonly string[] => {
    const importsOf = new Map<string, Set<string>>();
    for (const { path, imports } of sources) {
      const from = nameOf(path);
      const names = importsOf.get(from) ?? new Set();
      importsOf.set(from, names);
      for (const name of imports.map(({ to }) => nameOf(to))) if (name !== from) names.add(name);
    }
    const reached = (start: string): ReadonlySet<string> => {
      const found = new Set<string>();
      const open = [...(importsOf.get(start) ?? [])];
      for (let one = open.pop(); one !== undefined; one = open.pop()) {
        if (found.has(one)) continue;
        found.add(one);
        open.push(...(importsOf.get(one) ?? []));
      }
      return found;
    };
    return [...importsOf.keys()].filter((one) => reached(one).has(one));
  };

  test('imports form no cycle of files', () => {
    expect(inCircles((path) => path)).toEqual([]);
  });

  test.each(['admin/use-cases', 'core', 'http', 'policy'])('imports form no cycle of folders in src/%s', (folder) => {
    const nameOf = (path: string) =>
      path.startsWith(`src/${folder}/`) ? dirname(path) : folderOf(path) || moduleOf(path);
    expect(inCircles(nameOf)).toEqual([]);
  });

  test('imports form no cycle of modules', () => {
    expect(inCircles((path) => (path.startsWith('src/') && !PROGRAM.includes(path) ? moduleOf(path) : path))).toEqual(
      [],
    );
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
  // An import of a whole file uses all its exports.
  const whole = new Set(
    all.flatMap(({ path, text }) =>
      [...text.matchAll(WHOLE)].map(([, from, target = '']) => fileAt(path, from ?? target)),
    ),
  );
  const idle = sources
    // The parts of the console are a set from which each view takes what it needs.
    .filter(({ path }) => path !== 'src/main.ts' && !whole.has(path) && moduleOf(path) !== 'console')
    .flatMap(({ path, text }) => [...text.matchAll(VALUE)].map(([, name]) => `${path} ${name}`))
    .filter((one) => !used.has(one));
  expect(idle).toEqual([]);
});

describe('Biome', () => {
  const folder = temporaryFolder();
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Returns which of these files (paths from the root) Biome reports. */
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

  test('Biome refuses the clock, randomness, the environment, the network and timers in every pure folder, databases outside the store, and skipped tests', () => {
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
      'src/providers/timer.ts': 'export const one = setTimeout(String, 1);\n',
    };
    expect(reported({ ...wrong, ...right })).toEqual(Object.keys(wrong).sort());
  });
});
