import { Waterfall, type WaterfallSpan } from '../../charts/waterfall.tsx';
import { duration } from '../../design/format.ts';
import { Table } from '../../design/table.tsx';
import { State } from '../../design/tag.tsx';
import { Coded, creditsText } from '../../design/written.tsx';
import type { DecisionRead } from './decision-read.ts';

type Outcome = NonNullable<DecisionRead['outcome']>;

/** The attempts of a request on a timeline. If the record does not say when each attempt began, only their order is shown. */
export function Attempts({ outcome }: { readonly outcome: Outcome }) {
  const { attempts } = outcome;
  const spans = spansOf(outcome);
  return (
    <>
      {spans ? (
        <Waterfall heading={headingOf(outcome)} spans={spans} />
      ) : (
        <h2>
          {headingOf(outcome)}{' '}
          {attempts.length > 0 && <span class="dim">The record does not say when each attempt began.</span>}
        </h2>
      )}
      {attempts.length > 0 && (
        <Table
          label="Attempts"
          rows={attempts.map((attempt, at) => ({ ...attempt, at }))}
          keyOf={({ at }) => String(at)}
          columns={[
            { id: 'model', head: 'Model', cell: ({ model }) => model },
            {
              id: 'provider',
              head: 'Provider',
              phone: 'second',
              cell: ({ provider, upstream, spread, key }) => (
                <span title={upstream}>
                  {key === null ? provider : `${provider} (${key})`}
                  {spread && <span class="requests-failure small dim">{spread.reason}</span>}
                </span>
              ),
            },
            {
              id: 'result',
              head: 'Result',
              phone: 'fact',
              cell: ({ failure, finish_reasons, request_id, status, message, ...attempt }) => (
                <span title={request_id === null ? undefined : `The provider's ID of the request is ${request_id}`}>
                  <State tone={failure === null ? 'good' : 'bad'}>
                    {failure?.replaceAll('_', ' ') ?? (finish_reasons.filter(Boolean).join(', ') || 'answered')}
                  </State>
                  {notesOf(attempt) !== '' && <span class="requests-failure small dim">{notesOf(attempt)}</span>}
                  {(status !== null || message) && (
                    <span class="requests-failure small dim">
                      <Coded text={[status, message].filter((part) => part !== null && part !== '').join(': ')} />
                    </span>
                  )}
                </span>
              ),
            },
            { id: 'first', head: 'First token', figure: ({ first_part_ms }) => duration(first_part_ms) },
            { id: 'took', head: 'Took', figure: ({ ms }) => duration(ms) },
          ]}
        />
      )}
    </>
  );
}

type Noted = Pick<Outcome['attempts'][number], 'after' | 'credits_consumed' | 'credits_stated' | 'credits_at_price'>;

/** The signal that an attempt followed, its own charge, and the cost that the provider stated, with the cost at our price. */
function notesOf({ after, credits_consumed, credits_stated, credits_at_price }: Noted): string {
  const own = credits_at_price === null ? '' : `, ${creditsText(credits_at_price)} at your price`;
  return [
    after && `second attempt after ${after.replaceAll('_', ' ')}`,
    credits_consumed !== null && creditsText(credits_consumed),
    credits_stated !== null && `the provider states ${creditsText(credits_stated)}${own}`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** Returns null if the record lacks the start time of an attempt, because a timeline without start times would be invented. */
function spansOf({ attempts }: Outcome): readonly WaterfallSpan[] | null {
  const spans: WaterfallSpan[] = [];
  // An answer that the caller got after a failed second attempt is the last of the list.
  const inTime = attempts.toSorted((one, other) => (one.start_ms ?? 0) - (other.start_ms ?? 0));
  for (const { start_ms: startMs, ms, first_part_ms: first, failure, model, provider } of inTime) {
    if (startMs === null) return null;
    if (spans.length === 0) {
      const decided = { name: 'Admit, decide and hold', startMs: 0, endMs: startMs, firstTokenMs: null } as const;
      spans.push({ ...decided, tone: 'mark-other', note: duration(startMs).short });
    }
    spans.push({
      name: `${model} at ${provider}`,
      startMs,
      endMs: startMs + ms,
      tone: failure === null ? 'accent' : 'bad',
      firstTokenMs: first === null ? null : startMs + first,
      note: failure === null ? duration(ms).short : `failed: ${failure.replaceAll('_', ' ')}`,
    });
  }
  return spans.length === 0 ? null : spans;
}

function headingOf({ attempts, first_part_ms, total_ms }: Outcome): string {
  const took = `It took ${duration(total_ms).short}`;
  const failed = attempts.filter(({ failure }) => failure !== null).length;
  const after = failed === 0 ? '' : ` after ${failed === 1 ? 'one failed attempt' : `${failed} failed attempts`}`;
  if (first_part_ms !== null) return `${took}; the first token came at ${duration(first_part_ms).short}${after}.`;
  return `${took}${attempts.length === 0 ? ' without an attempt' : ' without an answer token'}${after}.`;
}
