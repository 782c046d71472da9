import type { DecisionRecord, RecordSummary } from '../../../core/decision/record.ts';
import type { Facts } from '../../../core/request/facts.ts';
import { REFUSED } from './body.ts';

/** The values of a summary, by position. The list of values also decodes stored summaries. */
type SummaryValues = readonly [
  time: number,
  revision: string,
  labels: DecisionRecord['labels'],
  attempts: number | null,
  ofBody: readonly [
    isPinned: boolean,
    model: string,
    stream: 0 | 1 | null,
    metadata: DecisionRecord['metadata'] | null,
    reason: string,
    error: RecordSummary['error'],
    provider: string | null,
    charged: number | null,
    saved: number | null,
    firstPartMs: number | null,
    totalMs: number | null,
    inputTokens: number | null,
    outputTokens: number | null,
    refused?: readonly unknown[] | null,
    /** The values for guards are null or absent if no guard applied. */
    guards?: RecordSummary['guards'] | null,
    guardedBy?: RecordSummary['guardedBy'] | null,
    cache?: RecordSummary['cache'],
    spared?: RecordSummary['spared'],
    insteadOf?: RecordSummary['insteadOf'],
  ],
];

/** Encodes a summary as the text that a row of the index stores. */
export function encodeSummary(summary: RecordSummary, { named, model }: Pick<Facts, 'named' | 'model'>): string {
  const { time, stream, labels, metadata, reason, revision, error, attempts, provider, charged, saved } = summary;
  const { firstPartMs, totalMs, inputTokens, outputTokens } = summary;
  const of = [named !== null, model, stream ? 1 : 0, metadata, reason, error, provider] as const;
  const figures = [charged, saved, firstPartMs, totalMs, inputTokens, outputTokens] as const;
  const refused = summary.refused && REFUSED.pack(summary.refused);
  const { guards, guardedBy, cache, spared, insteadOf } = summary;
  const isGuarded = guardedBy.length > 0 || guards.length > 0;
  const ofBody: SummaryValues[4] =
    insteadOf !== null
      ? [...of, ...figures, refused, guards, guardedBy, cache, spared, insteadOf]
      : cache !== null
        ? [...of, ...figures, refused, guards, guardedBy, cache, spared]
        : isGuarded
          ? [...of, ...figures, refused, guards, guardedBy]
          : refused
            ? [...of, ...figures, refused]
            : [...of, ...figures];
  const values: SummaryValues = [time, revision, labels, attempts, ofBody];
  return JSON.stringify(values);
}

/** Decodes the text of `encodeSummary`, or of the database's own summary. */
export function decodeSummary(text: string): RecordSummary {
  const [time, revision, labels, attempts, ofBody]: SummaryValues = JSON.parse(text);
  const [isPinned, model, stream, metadata, reason, error, provider, ...figures] = ofBody;
  const [charged, saved, firstPartMs, totalMs, inputTokens, outputTokens, refused, guards, guardedBy, ...rest] =
    figures;
  const [cache = null, spared = null, insteadOf = null] = rest;
  return {
    time,
    stream: stream === 1,
    labels,
    metadata: metadata ?? {},
    reason,
    revision,
    selector: isPinned ? 'pinned' : model,
    error,
    attempts,
    provider,
    charged,
    saved,
    firstPartMs,
    totalMs,
    inputTokens,
    outputTokens,
    refused: refused ? REFUSED.unpack(refused) : null,
    guards: guards ?? [],
    guardedBy: guardedBy ?? [],
    cache,
    spared,
    insteadOf,
  };
}
