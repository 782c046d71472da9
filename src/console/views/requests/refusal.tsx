import type { ReadOf } from '../../api/reads.ts';
import { Copy } from '../../design/copy.tsx';
import { figure } from '../../design/format.ts';
import { NamedState } from '../../design/tag.tsx';
import { Coded, When } from '../../design/written.tsx';
import { Facts } from '../../kit/show.tsx';
import { hrefWith } from '../../shell/router.ts';
import { GuardFindings, Labels, listHref, STATUSES } from './list.tsx';

export type FoundRequest = ReadOf<'/admin/requests/req_'>;
type Refusal = NonNullable<FoundRequest['refusal']>;

/** Shows a request that was refused before a decision: what the caller was told, and what the request named. */
export function RefusedRequest({ found, refusal }: { readonly found: FoundRequest; readonly refusal: Refusal }) {
  const { status, error, time, key_id, key_name } = found;
  const key = key_name ?? key_id;
  return (
    <div class="stack requests-detail">
      <section aria-label="Why" class="stack-tight">
        <p class="row dim requests-summary">
          <NamedState name={status} of={STATUSES} />
          {error && <span class="mono">{error}</span>}
          {time !== null && <When at={time} />}
          {key && <span title={key_id ?? undefined}>by {key}</span>}
        </p>
        <div class="requests-story">
          <p class="requests-answer">{answerText(refusal)}</p>
          {refusal.message && (
            <p>
              <Coded text={refusal.message} />
            </p>
          )}
        </div>
      </section>
      <section aria-label="Facts" class="stack-tight">
        <h2>Facts</h2>
        <Facts
          of={found}
          facts={[
            ['ID', ({ request_id }) => request_id && <Copy text={request_id} label="the ID of the request" />],
            ['Requested model', 'model', 'None, or the body was not read'],
            ['Path', () => refusal.route && `${refusal.method} ${refusal.route}`],
            ['Dialect', () => refusal.dialect],
            ['Team', 'team_id'],
            ['Session', ({ session }) => session !== null && <a href={listHref({ session })}>{session}</a>],
            ['Guards', ({ guards }) => <GuardFindings texts={guards} />],
            ['Labels', ({ labels }) => labels && Object.keys(labels).length > 0 && <Labels of={labels} />],
            [
              'Earlier decision',
              () =>
                refusal.decision_id !== null && (
                  <a href={hrefWith({}, `/requests/${refusal.decision_id}`)}>{refusal.decision_id}</a>
                ),
            ],
          ]}
        />
      </section>
    </div>
  );
}

function answerText({ answers, http_status }: Refusal): string {
  if (answers === 1) return `Signalbox answered ${http_status ?? 'with an error'} before it chose a model.`;
  return `Signalbox refused ${figure(answers).short} requests like this in that minute. It only counts requests above a limit, and requests with an unknown key.`;
}
