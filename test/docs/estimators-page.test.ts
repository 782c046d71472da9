import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shipped } from '../../plugins/index.ts';
import { newPlugin } from '../../src/cli/plugin/new.ts';
import type { Estimator, EstimatorCatalog, EstimatorMemory, Finding } from '../../src/contract/estimator.ts';
import { createPluginLoader, type PluginModule } from '../../src/plugin-host/load.ts';
import { createRegistry } from '../../src/plugin-host/registry.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { writePolicy } from '../support/signalbox.ts';

const ROOT = join(import.meta.dir, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/extend/estimators.md'), 'utf8');

function block(mark: string): string {
  const found = new RegExp(`^\`\`\`${mark}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(PAGE)?.[1];
  if (found === undefined) throw new Error(`docs/extend/estimators.md has no block \`${mark}\``);
  return found;
}

/** The arguments of the page's command, which makes the package beside this policy. */
function commandOf(mark: string, policies: string): string[] {
  const [program, group, command, ...args] = block(mark).trim().split(' ');
  expect([program, group, command]).toEqual(['signalbox', 'plugin', 'new']);
  return args.map((one) => (one === 'policies/plugins' ? join(policies, 'plugins') : one));
}

/** The estimator of the page and its options, as the policy of the page has them. */
async function tally() {
  const shippedText = readFileSync(join(ROOT, 'policies/simulated.yaml'), 'utf8');
  const policy = `version: 2\n${shippedText}${block('yaml learning')}`;
  const folder = writePolicy(policy);
  await newPlugin(commandOf('sh estimator', folder), { shipped, terminal: false });
  const modules = await createPluginLoader().load(['./plugins/tally/index.ts'], folder);
  const module = modules.get('./plugins/tally/index.ts');
  if (!module || module instanceof Error) throw module ?? new Error('the plugin was not loaded');
  const { plugins }: PluginModule = module;
  const context = { env: { get: () => undefined }, ...createRegistry(shipped), revisionOf: () => 'one' };
  const files = [{ path: 'policy.yaml', text: policy }];
  const { snapshot, diagnostics } = loadPolicy(files, {
    ...context,
    plugins: new Map([['./plugins/tally/index.ts', plugins]]),
  });
  expect(diagnostics).toEqual([]);
  const plugin = createRegistry([...shipped, ...plugins]).estimators.get('tally');
  const learning = snapshot?.learning;
  if (!plugin || !learning) throw new Error('the policy of the page has no learning');
  return { learning, prepared: plugin.prepare(learning.options, [1, 2]) };
}

const catalog: EstimatorCatalog = {
  tasks: ['general', 'coding'],
  models: ['small', 'large'].map((id) => ({
    id,
    quality: new Float64Array([0.6, 0.5]),
    stated: new Uint8Array(2),
    general: 0.6,
    basis: 'guessed' as const,
  })),
};
const declared = new Float64Array([0.5, 0.5]);

/** What it finds of a question of the task `coding`, into what an earlier request left there. */
function found(estimator: Estimator): Finding {
  const figures = () => new Float32Array([7, 7]);
  const quality = new Float64Array([7, 7]);
  const into = { quality, outcomes: figures(), text: figures(), counts: figures(), length: 7, trust: 7 };
  estimator.estimate({ features: null, task: 1, declared }, into, false);
  return into;
}

const learn = (memory: EstimatorMemory, score: number): number =>
  memory
    .over(catalog)
    .learn({ features: null, task: 1, model: 0, declared: 0.5, score, weight: 1, probability: 1, among: 1 });

test('the estimator of docs/extend/estimators.md works as it stands, and keeps what the page says it must', async () => {
  const { learning, prepared } = await tally();
  expect(learning).toMatchObject({ mode: 'shadow', estimator: 'tally', options: { declared_worth: 50 } });
  const memory = prepared.open(new Map());
  const nothing = { outcomes: new Float32Array(2), text: new Float32Array(2), counts: new Float32Array(2) };
  expect(found(memory.over(catalog))).toEqual({ quality: declared, ...nothing, length: 0, trust: 0 });
  // What was declared counts as 50 outcomes, and what it says of each outcome is from before it.
  expect(learn(memory, 1)).toBe(0.5);
  expect(learn(memory, 1)).toBe(26 / 51);
  const { quality, counts } = found(memory.over(catalog));
  expect([...quality]).toEqual([27 / 52, 0.5]);
  expect([...counts]).toEqual([2, 0]);

  const parts = memory.save(false);
  expect([...parts.keys()]).toEqual(['small']);
  expect(memory.save(false).size).toBe(0);
  const again = prepared.open(new Map([...memory.save(true)].flatMap(([name, part]) => (part ? [[name, part]] : []))));
  expect(learn(again, 0)).toBe(learn(memory, 0));
  expect(again.save(true)).toEqual(memory.save(true));
  expect(again.over(catalog).known()).toEqual([
    { model: 'small', task: 'coding', outcomes: 3, declared: 0.5, learnt: 27 / 53 },
  ]);
  // Another catalog has other indices.
  const turned = { ...catalog, models: [...catalog.models].reverse() };
  expect([...found(again.over(turned)).quality]).toEqual([0.5, 27 / 53]);

  memory.save(false);
  memory.forget('small');
  expect([...memory.save(false)]).toEqual([['small', null]]);
  expect(found(memory.over(catalog)).quality).toEqual(declared);
  expect(() => prepared.open(new Map([['small', new Uint8Array([123])]]))).toThrow();
});
