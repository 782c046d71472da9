import { afterEach, describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { adviceOf } from '../support/answers.ts';
import type { PolicyAnswer } from '../support/live-policy.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

const PATIENCE = 30_000;

const upstream = useUpstream();
let home: string;
const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function newHome(): void {
  home = temporaryFolder();
  const made = home;
  cleanUps.push(() => rmSync(made, { recursive: true, force: true }));
}

function write(name: string, text: string): void {
  const path = join(home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const policy = (plugin: string): string =>
  testPolicy(
    { first: upstream.url },
    { good: { endpoints: ['first'], quality: 0.9 }, poor: { endpoints: ['first'], quality: 0.2 } },
    `plugins:\n  - ${plugin}\nselectors:\n  mine: { strategy: thrifty }\n`,
  );

/** A strategy that prefers the worse model. */
const strategy = (sign = './sign.ts'): string => `import { defineStrategy, Type } from 'signalbox/plugin';
import { sign } from '${sign}';
export const thrifty = defineStrategy({
  name: 'thrifty',
  status: 'alpha',
  options: Type.Object({}),
  prepare: () => ({
    reason: 'contrary',
    score: ({ n, quality }, out) => { for (let i = 0; i < n; i++) out[i] = sign * quality[i]; },
  }),
});
`;
const SIGN = 'export const sign = -1;\n';

function writeElsewhere(folder: string): void {
  write(`${folder}/thrifty.ts`, strategy());
  write(`${folder}/sign.ts`, SIGN);
}

/** Ways to reach code outside the folder `policies`: the plugin in the policy, and the file in the warning. */
const WAYS_OUT: readonly (readonly [what: string, layOut: () => void, plugin: string, file: string])[] = [
  ['a path', () => writeElsewhere('elsewhere'), '../elsewhere/thrifty.ts', '../elsewhere/sign.ts'],
  [
    'a path to a folder with a similar name',
    () => writeElsewhere('policies-old'),
    '../policies-old/thrifty.ts',
    '../policies-old/sign.ts',
  ],
  [
    'a link to a file',
    () => {
      writeElsewhere('elsewhere');
      symlinkSync(join(home, 'elsewhere/thrifty.ts'), join(home, 'policies/thrifty.ts'));
    },
    './thrifty.ts',
    '../elsewhere/sign.ts',
  ],
  [
    'a link to a folder',
    () => {
      writeElsewhere('elsewhere');
      symlinkSync('../elsewhere', join(home, 'policies/plugins'));
    },
    './plugins/thrifty.ts',
    '../elsewhere/sign.ts',
  ],
  [
    'an import',
    () => {
      write('policies/thrifty.ts', strategy('../elsewhere/sign.ts'));
      write('elsewhere/sign.ts', SIGN);
    },
    './thrifty.ts',
    '../elsewhere/sign.ts',
  ],
];

describe('code outside the policy’s folder gets a warning at its location, if it is reached by', () => {
  for (const [what, layOut, plugin, file] of WAYS_OUT) {
    test(
      what,
      async () => {
        newHome();
        write('policies/policy.yaml', policy(plugin));
        layOut();
        const { code, out } = await runHere(['policy', 'check', join(home, 'policies')]);
        expect(out).toMatch(/policy\.yaml:\d+:5 {2}warning plugin-outside/);
        expect(out).toContain(`plugin \`${plugin}\` runs code from outside the policy folder: \`${file}\``);
        expect(code).toBe(0);
      },
      PATIENCE,
    );
  }

  test(
    'a server with a policy of 0.1 starts with a warning, and the plugin decides; `--strict` refuses it',
    async () => {
      newHome();
      write('policies/policy.yaml', policy('../elsewhere/thrifty.ts'));
      writeElsewhere('elsewhere');
      const warnings = await decides(join(home, 'policies'));
      expect(warnings).toContain('plugin-outside');
      expect((await runHere(['policy', 'check', '--strict', join(home, 'policies')])).code).toBe(2);
    },
    PATIENCE,
  );
});

/** Serves the folder and expects the worse model, which only the plugin chooses. Returns the codes of warnings. */
async function decides(folder: string): Promise<string[]> {
  const box = await startSignalbox({ env: UPSTREAM_ENV, args: ['--policies', folder] });
  cleanUps.push(() => box.stop());
  expect((await adviceOf(await box.post('/v1/route', { model: 'mine' }))).recommended_model).toBe('poor');
  const { warnings } = (await (await box.get('/admin/policy')).json()) as PolicyAnswer;
  return warnings.map(({ code }) => code);
}

describe('there is no warning about code outside the policy’s folder', () => {
  test(
    'for the links of a ConfigMap, in a folder that is itself reached through a link',
    async () => {
      newHome();
      const files = { 'policy.yaml': policy('./thrifty.ts'), 'thrifty.ts': strategy(), 'sign.ts': SIGN };
      for (const [name, text] of Object.entries(files)) {
        write(`mounted/..2026_11_21_10_00_01.123/${name}`, text);
        symlinkSync(join('..data', name), join(home, 'mounted', name));
      }
      symlinkSync('..2026_11_21_10_00_01.123', join(home, 'mounted/..data'));
      symlinkSync('mounted', join(home, 'policies'));
      expect(await decides(join(home, 'policies'))).not.toContain('plugin-outside');
    },
    PATIENCE,
  );

  test(
    'for a package, even if it is installed next to the policy through a link',
    async () => {
      newHome();
      write('store/thrifty/package.json', '{"name": "@acme/thrifty", "main": "./main.ts"}');
      write('store/thrifty/main.ts', strategy());
      write('store/thrifty/sign.ts', SIGN);
      write('policies/policy.yaml', policy('"@acme/thrifty"'));
      mkdirSync(join(home, 'policies/node_modules/@acme'), { recursive: true });
      symlinkSync(join(home, 'store/thrifty'), join(home, 'policies/node_modules/@acme/thrifty'));
      expect(await decides(join(home, 'policies'))).not.toContain('plugin-outside');
    },
    PATIENCE,
  );
});
