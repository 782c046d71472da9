import type { DecisionRecord, RecordSummary } from '../../../core/decision-record.ts';

/** The values of a summary, by position: it also decodes stored ones. */
type SummaryValues = readonly [
  time: number,
  revision: string,
  /** Null for a record of version 0.1, which has no `stream` either. */
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
  ],
];

/** By the positions that `body.ts` states. */
const OF_BODY = [
  ...['$[1][1]', '$[1][0]', '$[7]', '$[8]', '$[2]', '$[5][1]', '$[5][2][#-1][1]', '$[5][5]', '$[5][6]', '$[5][7]'],
  ...['$[5][8]', '$[5][3][0]', '$[5][3][3]'],
];

/** Of columns of a row. Null for a row that was edited. All of `body` at once: value by value takes twice as long. */
const summarySql = (labels: string): string => `CASE WHEN json_valid(body) AND json_valid(${labels})
    AND json_type(body, '$[3]') = 'text' THEN json_array(time, revision, json(${labels}), json_array_length(body, '$[5][2]'),
      json_extract(body, ${OF_BODY.map((path) => `'${path}'`).join(', ')})) END`;

/** Makes the summary of a row of `records`, or of `decisions`, which has neither `stream` nor labels. */
export const SUMMARY = summarySql('labels');
export const OLD_SUMMARY = summarySql("'null'");

/** @returns null for one of another form, of a build between releases: the record tells it */
export function decodeSummary(text: string): RecordSummary | null {
  const values: SummaryValues | readonly [] = JSON.parse(text);
  if (values.length !== 5) return null;
  const [time, revision, labels, attempts, ofBody] = values;
  const [isPinned, model, stream, metadata, reason, error, provider, ...figures] = ofBody;
  const [charged, saved, firstPartMs, totalMs, inputTokens, outputTokens] = figures;
  return {
    ...{ time, stream: labels === null ? null : stream === 1, labels, metadata: metadata ?? {}, reason, revision },
    selector: isPinned ? 'pinned' : model,
    ...{ error, attempts, provider, charged, saved, firstPartMs, totalMs, inputTokens, outputTokens },
  };
}
