/** What `npm run test:deep` runs: each section is a test that takes its number of runs from `effort`. */
export interface Section {
  readonly name: string;
  /** The test's file, or several. */
  readonly files: readonly string[];
}

export const SECTIONS: readonly Section[] = [
  { name: 'reload', files: ['test/reload/traffic.test.ts'] },
  {
    name: 'overspend',
    files: ['test/e2e/overspend.test.ts', 'test/money/bounds.test.ts', 'test/money/wire-bounds.test.ts'],
  },
  { name: 'crash', files: ['./test/deep/crash.ts'] },
  { name: 'first-start', files: ['./test/deep/first-start.ts'] },
  { name: 'disk-full', files: ['./test/deep/disk-full.ts'] },
  { name: 'ledger', files: ['test/ledger/model/model.test.ts'] },
  { name: 'payments', files: ['test/payments/model/model.test.ts', 'test/payments/model/kill.test.ts'] },
  { name: 'limits', files: ['test/access/limits/bucket.test.ts'] },
  { name: 'repositories', files: ['test/store/law.test.ts'] },
  { name: 'faults', files: ['test/fault/matrix.test.ts'] },
  { name: 'contracts', files: ['./test/deep/contracts.ts'] },
  { name: 'faults-soak', files: ['./test/deep/faults-soak.ts'] },
  { name: 'square-wave', files: ['./test/deep/square-wave.ts'] },
  { name: 'floods', files: ['test/e2e/bodies.test.ts'] },
  { name: 'accepted', files: ['test/property/accepted.test.ts'] },
  { name: 'stream-splits', files: ['test/property/stream-splits.test.ts'] },
  { name: 'stream-cuts', files: ['test/property/stream-cuts.test.ts'] },
  { name: 'replay', files: ['test/property/replay.test.ts'] },
  { name: 'capabilities', files: ['test/routing/capabilities.test.ts'] },
  { name: 'quiet-streams', files: ['test/http/stream-quiet.test.ts'] },
  { name: 'bombs', files: ['test/e2e/bombs.test.ts'] },
  { name: 'stalled-readers', files: ['test/e2e/stalled.test.ts'] },
  { name: 'seen', files: ['test/e2e/seen-law.test.ts'] },
  { name: 'metrics-money', files: ['test/ledger/metrics-law.test.ts'] },
  {
    name: 'learning',
    files: [
      'test/estimators/laws.test.ts',
      'test/learning/crash-law.test.ts',
      'test/learning/influence.test.ts',
      'test/gateway/signals-schema.test.ts',
    ],
  },
  { name: 'conformance', files: ['test/conformance/shipped.test.ts', 'test/deno/deno.test.ts'] },
  { name: 'expressions', files: ['test/policy/cel-any-text.test.ts', 'test/policy/yaml-bombs.test.ts'] },
  { name: 'policy-fmt', files: ['test/cli/policy-fmt-law.test.ts'] },
  {
    name: 'laws',
    files: [
      'test/gateway/kept-answer.test.ts',
      'test/laws/agreement-reload.test.ts',
      'test/laws/agreement.test.ts',
      'test/laws/auto.test.ts',
      'test/laws/ceilings.test.ts',
      'test/laws/every-strategy.test.ts',
      'test/laws/parts.test.ts',
      'test/laws/selectors.test.ts',
      'test/laws/weighted.test.ts',
      'test/laws/whole-chat.test.ts',
      'test/laws/within-margin.test.ts',
      'test/ledger/audit.test.ts',
      'test/ledger/interleaving.test.ts',
      'test/policy/fuzz.test.ts',
      'test/property/nulls.test.ts',
      'test/routing/certify.test.ts',
      'test/routing/refuse.test.ts',
      'test/security/upstream-authority.test.ts',
      'test/store/books.test.ts',
    ],
  },
  { name: 'idempotency', files: ['test/access/idempotency/state.test.ts'] },
];
