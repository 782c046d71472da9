import { expect, test } from 'bun:test';
import { shipped } from '../../plugins/index.ts';
import { rehearse } from '../../src/operate/policy/rehearse.ts';
import { createPluginLoader } from '../../src/plugin-host/load.ts';
import { buildCandidate, isRejected, type PolicyTools } from '../../src/runtime/candidate.ts';
import { parseFiles } from '../../src/runtime/parse-files.ts';
import { SMALL } from '../policy/support.ts';

const tools: PolicyTools = {
  folder: '.',
  shipped,
  loader: createPluginLoader(),
  env: { get: () => undefined },
  now: () => 0,
  parse: parseFiles,
  rehearse,
};
const bundle = { files: [{ path: 'p.yaml', text: SMALL }], hash: 'h' };

test('a policy is judged by the state that the ledger has at that moment', async () => {
  let usdPerCredit: string | null = null;
  const withLedger = { ...tools, ledger: () => ({ usdPerCredit, budgets: [] }) };
  expect(isRejected(await buildCandidate(bundle, withLedger))).toBe(false);
  usdPerCredit = '0.01';
  const judged = await buildCandidate(bundle, withLedger);
  expect(isRejected(judged) && judged.problems.map(({ code }) => code)).toEqual(['credits-changed']);
});

test('without a ledger at hand, a policy is judged by itself', async () => {
  expect(isRejected(await buildCandidate(bundle, tools))).toBe(false);
});

test('variables that only an adapter’s preset names count as unset, too: a policy of the past is built again without them', async () => {
  const providers = `  sim: { adapter: simulated }
  groq: { preset: groq }
`;
  const text = SMALL.replace(/providers:\n(?: {2}.*\n)+/, `providers:\n${providers}`);
  const judged = await buildCandidate({ files: [{ path: 'p.yaml', text }], hash: 'h' }, tools);
  expect(isRejected(judged) ? judged.problems : judged.surroundings.unset).toEqual(['GROQ_API_KEY']);
});
