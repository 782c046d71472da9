import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AlertCounts } from '../../src/admin/alerts/counts.ts';
import { guardFamilies } from '../../src/gateway/guards/guard-health.ts';
import { refusalFamilies } from '../../src/gateway/records/refusal-log.ts';
import { scoreFamilies } from '../../src/gateway/records/scores.ts';
import { createChatMetrics } from '../../src/gateway/request/observe/chat-metrics.ts';
import type { Family } from '../../src/host/telemetry/families.ts';
import { createLog, logFamilies } from '../../src/host/telemetry/log.ts';
import { metricsErrors } from '../../src/host/telemetry/page.ts';
import { watchProcess } from '../../src/host/telemetry/process.ts';
import { spanFamily } from '../../src/host/telemetry/tracing/span-queue.ts';
import { conversationFamilies, createEdgeMetrics, gateFamilies } from '../../src/http/edge-metrics.ts';
import { ledgerFamilies } from '../../src/ledger/metrics.ts';
import { PaymentCounts } from '../../src/payments/counts.ts';
import { paymentFamilies } from '../../src/payments/metrics.ts';
import { policyFamilies, taskFamilies } from '../../src/policy/runtime/metrics.ts';
import { endpointFamilies } from '../../src/providers/health/metrics.ts';
import { rejectionCounter } from '../../src/server/defects.ts';
import { NO_INSTANCE } from '../../src/store/instance.ts';
import { clusterFamilies, instanceFamilies, leaderFamilies, storeFamilies } from '../../src/store/metrics.ts';

const PATH = join(import.meta.dir, '../../docs/operate/metrics.md');

const never = (): never => {
  throw new Error('a page of the documentation reads no figures');
};
const log = createLog({ write: () => {}, pretty: false, now: () => 0 });
const nothing = { commits: { counts: new Float64Array(0), sum: 0 }, waiting: 0, errors: 0, isFailing: false };
const NO_NEWS = { raise: never, on: never, look: never, ageOf: () => 0, lookEveryMs: 100 };
const watched = watchProcess();
watched.stop();

/** Every metric family, under the part of the page that describes it. The page uses only the descriptions of families, not their values. */
const PARTS: Readonly<Record<string, readonly Family[]>> = {
  chats: [...createChatMetrics().families, ...guardFamilies({ of: never }, never)],
  edge: [
    ...createEdgeMetrics().families,
    ...gateFamilies({ inside: 0, waiting: 0 }, { size: 0 }),
    ...conversationFamilies({ size: 0, bytes: 0 }),
  ],
  endpoints: [...endpointFamilies(() => []), ...taskFamilies(never)],
  policy: policyFamilies({ lease: never, status: never }, ''),
  refusals: refusalFamilies({ ends: { stored: 0, dropped: 0 } }),
  learning: scoreFamilies({ count: 0 }),
  ledger: ledgerFamilies({ sample: never }),
  payments: paymentFamilies({ activity: { counts: new PaymentCounts(), unsettled: never, networks: never } }),
  alerts: new AlertCounts().families,
  store: [
    ...storeFamilies(nothing),
    ...instanceFamilies({ instance: NO_INSTANCE, news: NO_NEWS }),
    ...clusterFamilies(NO_INSTANCE, never, never),
    ...leaderFamilies({ of: never }, never),
  ],
  process: [
    ...watched.families,
    ...logFamilies(log, { lost: 0 }),
    spanFamily(() => ({ exported: 0, lost: 0 })),
    metricsErrors().family,
    rejectionCounter().family,
  ],
};

export const documentedFamilies: readonly Family[] = Object.values(PARTS).flat();

/** Makes the lists in `docs/operate/metrics.md` from the metrics in the code. A test compares the file with the result. */
export function metricsPage(): string {
  return readFileSync(PATH, 'utf8').replace(
    /^(<!-- made: (\w+) -->\n)[\s\S]*?^(<!-- end -->)$/gm,
    (_, begin: string, name: string, end: string) => `${begin}\n${listOf(PARTS[name])}\n\n${end}`,
  );
}

/** Sets of labels that many families share, with the words that the page explains. */
const LABEL_SETS: readonly (readonly [string, readonly string[]])[] = [
  ['_request_', ['operation', 'selector', 'model', 'provider', 'upstream']],
  ['_endpoint_', ['provider', 'model', 'upstream']],
];

function labelsOf(labels: readonly string[]): string[] {
  const [word, set] = LABEL_SETS.find(([, names]) => names.every((name) => labels.includes(name))) ?? ['', []];
  const others = labels.filter((label) => !set.includes(label)).map((label) => `\`${label}\``);
  return word === '' ? others : [word, ...others];
}

function listOf(families: readonly Family[] | undefined): string {
  if (!families) throw new Error('docs/operate/metrics.md has a mark that nothing is made for');
  return families.map(lineOf).join('\n');
}

/** Most gauges of budgets have this phrase, so the page has it once. */
const TIGHTEST = ', of the subject with the least left';

function lineOf({ name, type, labels, help }: Family): string {
  const words = [...(type === 'histogram' ? ['histogram'] : []), ...labelsOf(labels)];
  return `- \`${name}\`${words.length === 0 ? '' : ` (${words.join(', ')})`}: ${help.replace(TIGHTEST, '')}`;
}
