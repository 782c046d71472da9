import { expect, test } from 'bun:test';
import { shipped } from '../../../plugins/index.ts';
import { rehearse } from '../../../src/admin/use-cases/policy/rehearse.ts';
import { createPluginLoader } from '../../../src/host/plugins/load.ts';
import { buildCandidate, isRejected, type PolicyTools } from '../../../src/policy/runtime/candidate.ts';
import { parseFiles } from '../../../src/policy/runtime/parse-files.ts';
import { SMALL } from '../support.ts';

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

test('a policy is checked against the current state of the ledger', async () => {
  let usdPerCredit: string | null = null;
  const withLedger = { ...tools, ledger: () => ({ usdPerCredit, budgets: [] }) };
  expect(isRejected(await buildCandidate(bundle, withLedger))).toBe(false);
  usdPerCredit = '0.01';
  const result = await buildCandidate(bundle, withLedger);
  expect(isRejected(result) && result.problems.map(({ code }) => code)).toEqual(['credits-changed']);
});

test('a policy can also be checked on a server without a ledger', async () => {
  expect(isRejected(await buildCandidate(bundle, tools))).toBe(false);
});

test('unset variables of an adapter’s preset are recorded, so that a past policy can be rebuilt', async () => {
  const providers = `  sim: { adapter: simulated }
  groq: { preset: groq }
`;
  const text = SMALL.replace(/providers:\n(?: {2}.*\n)+/, `providers:\n${providers}`);
  const result = await buildCandidate({ files: [{ path: 'p.yaml', text }], hash: 'h' }, tools);
  expect(isRejected(result) ? result.problems : result.surroundings.unset).toEqual(['GROQ_API_KEY']);
});
