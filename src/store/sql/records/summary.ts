import type { DecisionRecord, RecordSummary } from '../../../core/decision-record.ts';

/** The values of a summary, by position: it also decodes stored ones. */
type SummaryValues = readonly [
  time: number,
  isPinned: boolean,
  model: string,
  stream: 0 | 1 | null,
  labels: DecisionRecord['labels'],
  metadata: DecisionRecord['metadata'] | null,
  reason: string,
  revision: string,
  error: RecordSummary['error'],
  attempts: number | null,
  provider: string | null,
  charged: number | null,
  saved: number | null,
  firstPartMs: number | null,
  totalMs: number | null,
  inputTokens: number | null,
  outputTokens: number | null,
];

/** The text of a summary, as a row of the index has it. */
export function encodeSummary(
  summary: RecordSummary,
  { isPinned, model }: { isPinned: boolean; model: string },
): string {
  const { time, stream, labels, metadata, reason, revision, error, attempts, provider, charged, saved } = summary;
  const values: SummaryValues = [
    ...([time, isPinned, model, stream === null ? null : stream ? 1 : 0, labels, metadata, reason, revision] as const),
    ...([error, attempts, provider, charged, saved, summary.firstPartMs, summary.totalMs] as const),
    ...([summary.inputTokens, summary.outputTokens] as const),
  ];
  return JSON.stringify(values);
}

export function decodeSummary(text: string): RecordSummary {
  const values: SummaryValues = JSON.parse(text);
  const [time, isPinned, model, stream, labels, metadata, reason, revision, error, attempts, provider, ...figures] =
    values;
  const [charged, saved, firstPartMs, totalMs, inputTokens, outputTokens] = figures;
  return {
    ...{ time, stream: stream === null ? null : stream === 1, labels, metadata: metadata ?? {}, reason, revision },
    selector: isPinned ? 'pinned' : model,
    ...{ error, attempts, provider, charged, saved, firstPartMs, totalMs, inputTokens, outputTokens },
  };
}
