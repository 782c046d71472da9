import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { SECTIONS } from './deep/sections.ts';
import { changingVariables, MAY_CHANGE, SETS_TIMERS, TIMER_CALL } from './support/module-state.ts';
import { PURE } from './support/pure-rooms.ts';

/** The rules of the house that a reader could break without noticing. */
const ROOT = join(import.meta.dir, '..');

const LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;

/** Rooms that only `main.ts` brings together. */
const APART = [
  ['server', 'cli'],
  ['cli', 'server'],
] as const;

/** A room is a folder of `src`. It may import itself and every room of a layer further up, but for those that are APART. */
const LAYERS: readonly (readonly string[])[] = [
  ['core'],
  ['contract', 'accounting'],
  ['api', 'outbound', 'telemetry'],
  ['store'],
  [
    ...['alerts', 'policy', 'routing', 'tokenizer', 'ledger', 'access'],
    ...['upstream', 'records', 'learning', 'plugin-host', 'importers'],
  ],
  ['runtime', 'payments'],
  ['prompt'],
  ['money'],
  ['exchange'],
  ['request'],
  ['surface'],
  ['operate', 'conformance'],
  ['http', 'cli'],
  ['server'],
  // In a browser; of the others it has only types (test/console/rules.test.ts).
  ['console'],
];

/** The files beside the rooms: they start the program, and no room knows them. */
const PROGRAM = ['src/commands.ts', 'src/main.ts'];

const IMPURE_IMPORT = /^(?:node:|bun:|bun$)/;
const IMPURE_CALL =
  /\bBun\.|\bprocess\.|\bglobalThis\b|\bimport\.meta\b|\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bMath\.random\(|\bcrypto\.|\bfetch\(|\bset(?:Timeout|Interval|Immediate)\(|\bqueueMicrotask\(|\brequire\(/;

interface Source {
  readonly path: string;
  readonly text: string;
  readonly imports: readonly string[];
}

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^'"\n;]*?(?:\{[^}]*\})?[^'"\n;]*?from\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]|(?:^|\n)import\s*['"]([^'"]+)['"]/g;

function readSource(path: string): Source {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const imports = [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
  return { path, text, imports };
}

const sources = [...filesBelow('src'), ...filesBelow('plugins')].map(readSource);
const tests = [...filesBelow('test'), ...filesBelow('bench'), ...filesBelow('deploy')].map(readSource);

const roomOf = (path: string): string => path.split('/')[1] ?? '';
const layerOf = (room: string): number => LAYERS.findIndex((layer) => layer.includes(room));

/** Blanks comments and strings, so that prose about `fetch(` is not a call of it. Keeps the lines. */
function codeOf(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, (found) =>
    found.replace(/[^\n]/g, ' '),
  );
}

const NAMES = /\b(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s*from\s*['"]([^'"]+)['"]/g;
const WHOLE = /\*\s*(?:as\s+\w+\s+)?from\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g;
const VALUE = /^export (?:async )?(?:function\*? |const |class |enum )(\w+)/gm;
const fileAt = (from: string, target: string): string =>
  target === 'signalbox/plugin' ? 'src/contract/plugin.ts' : relative(ROOT, resolve(ROOT, dirname(from), target));

describe('rooms', () => {
  test('every folder of src is a room with a place among the layers', () => {
    const homeless = sources.filter(({ path }) => path.startsWith('src/') && layerOf(roomOf(path)) < 0);
    expect(homeless.map(({ path }) => path).sort()).toEqual(PROGRAM);
  });

  test('a room imports only itself and rooms that stand before it', () => {
    const outward = sources
      .filter(({ path }) => path.startsWith('src/') && !PROGRAM.includes(path))
      .flatMap(({ path, imports }) =>
        imports
          .filter((target) => target.startsWith('.'))
          .map((target) => relative(ROOT, resolve(ROOT, dirname(path), target)))
          .filter((target) => {
            if (!target.startsWith('src/') || PROGRAM.includes(target)) return true;
            if (APART.some(([one, other]) => one === roomOf(path) && other === roomOf(target))) return true;
            return roomOf(target) !== roomOf(path) && layerOf(roomOf(target)) >= layerOf(roomOf(path));
          })
          .map((target) => `${path} → ${target}`),
      );
    expect(outward).toEqual([]);
  });

  test('before the surfaces only the policy, whose cases are written in it, knows the form of requests', () => {
    const knowing = sources
      .filter(({ path }) => path.startsWith('src/') && layerOf(roomOf(path)) < layerOf('surface'))
      .filter(({ path }) => !path.startsWith('src/policy/') && !path.startsWith('src/api/'))
      .filter(({ path, imports }) => imports.some((target) => fileAt(path, target).startsWith('src/api/')));
    expect(knowing.map(({ path }) => path)).toEqual([]);
  });

  test('of a request’s rooms and http only the folders x402 know payments', () => {
    const isOfPayments = (path: string) => path.startsWith('src/payments/') || path.startsWith('src/money/x402/');
    const knowing = sources
      .filter(({ path }) => /^src\/(?:prompt|money|exchange|request|http)\/(?!x402\/)/.test(path))
      .filter(({ path, imports }) => imports.some((target) => isOfPayments(fileAt(path, target))))
      .map(({ path }) => path);
    expect(knowing).toEqual([]);
  });

  test('only the store knows SQLite and PostgreSQL, and one file of it the driver of the latter', () => {
    const knowing = sources
      .filter(({ path }) => !path.startsWith('src/store/'))
      .filter(({ path, imports }) =>
        imports.some((target) => target === 'bun:sqlite' || /^src\/store\/\w+\//.test(fileAt(path, target))),
      )
      .map(({ path }) => path);
    expect(knowing).toEqual([]);
    const driving = sources.filter(({ imports }) => imports.includes('pg')).map(({ path }) => path);
    expect(driving).toEqual(['src/store/postgres/connection.ts']);
  });

  test('a store’s interfaces know no implementation, and only what starts a store opens one', () => {
    const isInterface = (path: string) => /^src\/store\/[^/]+$/.test(path) && path !== 'src/store/open.ts';
    const knowing = sources.filter(
      ({ path, imports }) =>
        (isInterface(path) && imports.some((target) => /^src\/store\/\w+\//.test(fileAt(path, target)))) ||
        (layerOf(roomOf(path)) < layerOf('operate') &&
          !PROGRAM.includes(path) &&
          imports.some((target) => fileAt(path, target) === 'src/store/open.ts')),
    );
    expect(knowing.map(({ path }) => path)).toEqual([]);
  });

  test('no files import each other in a circle', () => {
    const importsOf = new Map(
      sources.map(({ path, imports }) => [
        path,
        imports.filter((target) => target.startsWith('.')).map((target) => fileAt(path, target)),
      ]),
    );
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
    const inCircles = [...importsOf.keys()].filter((file) => reached(file).has(file));
    expect([...new Set(inCircles.map((file) => dirname(file)))].sort()).toEqual([]);
  });

  test('plugins import each other and signalbox/plugin, nothing else', () => {
    const outward = sources
      .filter(({ path }) => path.startsWith('plugins/'))
      .flatMap(({ path, imports }) =>
        imports
          .filter((target) => target !== 'signalbox/plugin')
          .filter(
            (target) =>
              !target.startsWith('.') || !relative(ROOT, resolve(ROOT, dirname(path), target)).startsWith('plugins/'),
          )
          .map((target) => `${path} → ${target}`),
      );
    expect(outward).toEqual([]);
  });

  test('pure rooms and plugins use web standards only, and no clock, chance, environment, network or timer', () => {
    const impure = sources
      .filter(({ path }) => PURE.some((room) => path.startsWith(room)))
      .flatMap(({ path, text, imports }) => [
        ...imports.filter((target) => IMPURE_IMPORT.test(target)).map((target) => `${path} imports ${target}`),
        ...codeOf(text)
          .split('\n')
          .flatMap((line, i) => (IMPURE_CALL.test(line) ? [`${path}:${i + 1} ${line.trim()}`] : [])),
      ]);
    expect(impure).toEqual([]);
  });
});

describe('dialects of callers', () => {
  /** The lines of `src` outside a room that match. */
  const linesOutside = (room: string, pattern: RegExp): readonly string[] =>
    sources
      .filter(({ path }) => path.startsWith('src/') && !path.startsWith(`src/${room}/`))
      // Samples of what providers speak, and programs for the clients of dialects.
      .filter(({ path }) => !['src/conformance/answers.ts', 'src/console/views/playground/snippets.ts'].includes(path))
      .flatMap(({ path, text }) =>
        text.split('\n').flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1} ${line.trim()}`] : [])),
      );

  test('are the surfaces’ own: no other room writes what OpenAI’s callers read', () => {
    expect(linesOutside('surface', /chatcmpl-|\[DONE\]|chat\.completion/)).toEqual([]);
  });

  test('share one error with the routes that are no dialect’s', () => {
    expect(linesOutside('api', /\btype: row\.type\b|\berror: \{ message\b/)).toEqual([]);
  });

  test('share by `api/`: none takes its fields from another one’s folder', () => {
    const FOREIGN = /^src\/surface\/(?!openai-chat\/)([^/]+)\//;
    const lenders = sources.flatMap(({ path, imports }) => {
      const [, own] = FOREIGN.exec(path) ?? [];
      if (own === undefined) return [];
      const others = imports
        .map((target) => fileAt(path, target))
        .filter((target) => /^src\/surface\/[^/]+\//.test(target));
      return others
        .filter((target) => !target.startsWith(`src/surface/${own}/`))
        .map((target) => `${path} → ${target}`);
    });
    expect(lenders).toEqual([]);
  });
});

describe('exports', () => {
  test('are of use to another file: what one keeps to itself is nobody’s to look at', () => {
    const named = [...sources, ...tests].flatMap(({ path, text }) =>
      [...text.matchAll(NAMES)].flatMap(([, names = '', target = '']) =>
        names.split(',').map((name) => `${fileAt(path, target)} ${name.replace(/^\s*type\s|\sas\s.*/g, '').trim()}`),
      ),
    );
    const used = new Set(named);
    // Whoever takes a whole file takes all of it.
    const whole = new Set(
      [...sources, ...tests].flatMap(({ path, text }) =>
        [...text.matchAll(WHOLE)].map(([, from, target = '']) => fileAt(path, from ?? target)),
      ),
    );
    const idle = sources
      // The parts of the console's screens are a set, of which each view takes its own.
      .filter(({ path }) => path !== 'src/main.ts' && !whole.has(path) && roomOf(path) !== 'console')
      .flatMap(({ path, text }) => [...text.matchAll(VALUE)].map(([, name]) => `${path} ${name}`))
      .filter((one) => !used.has(one));
    expect(idle).toEqual([]);
  });
});

const TYPE = /^[ \t]*(export )?(?:declare )?(?:abstract )?(?:interface|type|class) (\w+)(?=[ <{=]|$)/gm;
const PARTICIPLE =
  /^(?:[A-Z][a-z]+(?:ed|ing)|Told|Asked|Seen|Kept|Known|Unknown|Said|Drawn|Chosen|Given|Taken|Paid|Held|Hidden|Learnt|Sent|Shown|Found|Met|Gone|Done|Made|Built|Broken|Written|Heard|Meant|Left|Lost|Put|Cut)$/;
const VERB = /^(?:Ask|Bring|Find|Get|Give|Go|Keep|Let|Look|Make|Put|Read|Say|See|Send|Serve|Show|Take|Tell)$/;
/** Nouns that end like a participle. */
const NOUNS: ReadonlySet<string> = new Set(
  'Finding Funding Grouping Meaning Opening Reading Recording Sampling Setting Spending'.split(' '),
);
const isNoun = (name: string): boolean => NOUNS.has(name) || !(PARTICIPLE.test(name) || VERB.test(name));

describe('types', () => {
  const types = sources.flatMap(({ path, text }) =>
    [...codeOf(text).matchAll(TYPE)].map(([, exported, name = '']) => ({
      path,
      name,
      isExported: exported !== undefined,
    })),
  );

  test('that are exported have each a name of their own, so that a search finds one', () => {
    const paths = new Map<string, string[]>();
    for (const { path, name } of types.filter(({ isExported }) => isExported)) {
      paths.set(name, [...(paths.get(name) ?? []), path]);
    }
    const shared = [...paths].filter(([, found]) => found.length > 1);
    expect(shared.map(([name, found]) => `${name}: ${found.join(', ')}`)).toEqual([]);
  });

  test('are named by nouns, exported or not: never by a verb or a bare participle', () => {
    expect(types.filter(({ name }) => !isNoun(name)).map(({ path, name }) => `${path} ${name}`)).toEqual([]);
  });
});

describe('state', () => {
  // A page of the console is one application, in a browser.
  const served = sources.filter(({ path }) => roomOf(path) !== 'console');
  test('of modules that may change is in a short list: an application has its own in the objects that it makes', () => {
    const found = served.flatMap(({ path, text }) => changingVariables(codeOf(text)).map((name) => `${path} ${name}`));
    expect(found.sort()).toEqual(Object.values(MAY_CHANGE).flat().sort());
  });

  test('that changes later does so by the timers of the host: the process’s own are set where no clock of ours decides', () => {
    const found = served.filter(({ text }) => TIMER_CALL.test(codeOf(text))).map(({ path }) => path);
    expect(found.filter((path) => !SETS_TIMERS.includes(path))).toEqual([]);
  });
});

describe('files', () => {
  test(`none has more than ${LINES_MAX} lines`, () => {
    const long = [...sources, ...tests]
      .filter(({ text }) => text.split('\n').length > LINES_MAX)
      .map(({ path }) => path);
    expect(long).toEqual([]);
  });

  test(`Biome refuses functions of more than ${FUNCTION_LINES_MAX} lines`, async () => {
    const biome = await Bun.file(join(ROOT, 'biome.json')).json();
    expect(biome.linter.rules.complexity.noExcessiveLinesPerFunction.options.maxLines).toBe(FUNCTION_LINES_MAX);
  });

  test('that the sections of `npm run test:deep` name are there', () => {
    const named = SECTIONS.flatMap(({ files }) => files).map((file) => join(file));
    expect(named.filter((file) => !tests.some(({ path }) => path === file))).toEqual([]);
  });

  test('no marker, silenced check or focused test is left behind', () => {
    const words = [
      'TO' + 'DO',
      'FIX' + 'ME',
      'X' + 'XX',
      'HA' + 'CK',
      '@ts-' + 'ignore',
      '@ts-' + 'nocheck',
      'as ' + 'any',
    ];
    const pattern = new RegExp(
      `\\b(?:${words.join('|').replaceAll('@', '')})\\b|\\b(?:test|it|describe)\\.(?:only|skip|todo)\\b`,
    );
    const left = [...sources, ...tests].flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1} ${line.trim()}`] : [])),
    );
    expect(left).toEqual([]);
  });
});

/** A pause of more than a turn whose next statement expects something, without a comment on what it waits for. */
const BLIND_PAUSE = /(?<!\/\/[^\n]*\n)^ *await Bun\.sleep\((?!0\))[^\n]*\n(?:\s*\/\/[^\n]*\n)*\s*(?:await )?expect\b/gm;

describe('tests', () => {
  test('that pause before they expect say what for; `waitFor` sees that something came, `quietFor` that nothing did', () => {
    const blind = tests
      .filter(({ path }) => path.endsWith('.test.ts'))
      .flatMap(({ path, text }) =>
        [...text.matchAll(BLIND_PAUSE)].map(({ index }) => `${path}:${text.slice(0, index).split('\n').length}`),
      );
    expect(blind).toEqual([]);
  });
});

describe('the rules themselves', () => {
  test('see imports in every form', () => {
    const text = `import { a } from './a.ts';\nimport type { B } from "node:fs";\nexport * from './c.ts';\nimport './d.ts';\nconst e = import('./e.ts');\nimport {\n  f,\n  g,\n} from './f.ts';`;
    const found = [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3]);
    expect(found).toEqual(['./a.ts', 'node:fs', './c.ts', './d.ts', './e.ts', './f.ts']);
  });

  test('see a pause that nobody explains', () => {
    const seen = (text: string) => [...text.matchAll(BLIND_PAUSE)].length;
    expect(seen('  act();\n  await Bun.sleep(20);\n  expect(a).toBe(0);\n')).toBe(1);
    expect(seen('  await Bun.sleep(1_000 * S);\n\n  // Why.\n  await expect(a).rejects;\n')).toBe(1);
    expect(seen('  // Why.\n  await Bun.sleep(20);\n  expect(a).toBe(0);\n')).toBe(0);
    expect(seen('  await Bun.sleep(0);\n  expect(a).toBe(0);\n  await Bun.sleep(20);\n  act();\n')).toBe(0);
  });

  test('see a variable of a module that may change', () => {
    const names = (text: string) => changingVariables(codeOf(text));
    expect(names('let a = 1;\nexport let b: C;\nfunction f() {\n  let c = 1;\n}')).toEqual(['a', 'b']);
    expect(names('const a = new Map<B, C>();\nexport function f() {\n  a.set(1, 2);\n}')).toEqual(['a']);
    expect(names('const a = { b: 1 };\nconst f = () => {\n  a.b += 1;\n};')).toEqual(['a']);
    expect(names('const a: B[] = [];\nclass C {\n  d() {\n    a[1] = 2;\n  }\n}')).toEqual(['a']);
    expect(names('export const a = new Queue();\nconst b = new WeakMap();')).toEqual(['a', 'b']);
    expect(names('const a = new Set();\nfor (const b of C) a.add(b);\nconst d = () => a.has(1);')).toEqual([]);
  });

  test('see a clock in code and not in prose', () => {
    expect(IMPURE_CALL.test(codeOf('const t = Date.now();'))).toBe(true);
    expect(IMPURE_CALL.test(codeOf('// Date.now() is not for here\nconst t = "Date.now()";'))).toBe(false);
  });

  test('see a type named by a verb or a participle, where it is not exported and inside a function too', () => {
    const text =
      'interface Coming {}\nexport type Told = 1;\nfunction f() {\n  type Send<T> = () => T;\n}\ntype Finding = 2;\n';
    const names = [...text.matchAll(TYPE)].map(([, , name = '']) => name);
    expect(names).toEqual(['Coming', 'Told', 'Send', 'Finding']);
    expect(names.filter((name) => !isNoun(name))).toEqual(['Coming', 'Told', 'Send']);
  });
});
