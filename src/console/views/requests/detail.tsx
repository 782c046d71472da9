import { useResource } from '../../api/resource.ts';
import { Copy } from '../../design/copy.tsx';
import { figure, percent, usd } from '../../design/format.ts';
import { Panel } from '../../design/panel.tsx';
import { Empty, Loaded, Partial } from '../../design/states.tsx';
import { creditsText, When } from '../../design/written.tsx';
import { hrefWith } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { Again } from './again.tsx';
import { Attempts } from './attempts.tsx';
import { Candidates } from './candidates.tsx';
import { Content } from './content.tsx';
import { costWriter } from './costs.ts';
import { MoneyOfRequest } from './money.tsx';
import { StatusTag } from './status.tsx';
import { type DecisionRead, storyOf } from './story.ts';
import { Told } from './told.tsx';

/** One request: why it went where it went, when, and for how much. */
export function RequestDetail({ id }: { readonly id: string }) {
  const decision = useResource(`/admin/decisions/${id}`);
  return (
    <Panel title="Request" closeHref={hrefWith({ again: null }, '/requests')} isWide>
      {decision.data === null && decision.failure?.status === 404 ? (
        <Empty title="There is no such request">
          Its record was deleted, it is still running, or you may not see it.
        </Empty>
      ) : (
        <Loaded what="The request’s facts" of={decision}>
          {(known) => (known.id === id ? <Story decision={known} /> : null)}
        </Loaded>
      )}
    </Panel>
  );
}

function Story({ decision }: { readonly decision: DecisionRead }) {
  const { id, outcome, candidates, replay } = decision;
  const money = useResource(`/admin/decisions/${id}/money`);
  const cost = costWriter(money.data?.usd_per_credit ?? null);
  return (
    <div class="stack requests-detail">
      <section aria-label="Why" class="stack-tight">
        <Summary decision={decision} perCredit={money.data?.usd_per_credit ?? null} />
        <Told
          revision={decision.policy_revision}
          sentences={storyOf(decision, (credits) => cost(credits).short)}
          answers={outcome?.attempts.length === 0 ? 2 : 1}
        />
        {replay.matches === null && <Partial>Its reasons are not all known: {replay.reason}</Partial>}
        {replay.matches === false && (
          <Partial>
            Deciding again gave another result: the record or its policy was changed, so the reasons may differ.
          </Partial>
        )}
        {decision.explanation && <InFull sentences={decision.explanation} />}
      </section>
      {candidates && (
        <section aria-label="Candidates" class="stack-tight">
          <Candidates
            candidates={candidates}
            choice={decision.choice}
            cost={cost}
            revision={decision.policy_revision}
          />
        </section>
      )}
      {outcome && (
        <section aria-label="Time" class="stack-tight">
          <Attempts outcome={outcome} />
        </section>
      )}
      <section aria-label="Money">
        <MoneyOfRequest money={money} decision={decision} />
      </section>
      <section aria-label="Facts" class="stack-tight">
        <h2>Facts</h2>
        <Facts decision={decision} />
      </section>
      {reachOfViewer('content.read') !== null && (
        <section aria-label="Content" class="stack-tight">
          <h2>Content</h2>
          <Content key={id} id={id} />
        </section>
      )}
      {reachOfViewer('decisions.repeat') !== null && (
        <section aria-label="Today" class="stack-tight">
          <h2>Today</h2>
          <Again key={id} decision={decision} cost={cost} />
        </section>
      )}
    </div>
  );
}

const InFull = ({ sentences }: { readonly sentences: readonly string[] }) => (
  <details class="requests-more">
    <summary>The decision in full</summary>
    {sentences.map((sentence) => (
      <p key={sentence}>{sentence}</p>
    ))}
  </details>
);

/** The request in a line: how it ended, when it was made, by whom, and for how much. */
function Summary({ decision: { outcome, time, key_id, key_name }, perCredit }: FactsProps) {
  const charged = outcome?.credits_consumed ?? null;
  const key = key_name ?? key_id;
  return (
    <p class="requests-summary">
      <StatusTag status={outcome?.status ?? 'recommended'} />
      {outcome?.error && <span class="mono">{outcome.error}</span>}
      <When at={time} />
      {key !== null && <span title={key_id ?? undefined}>by {key}</span>}
      {charged !== null && (
        <span class="figure">
          for {perCredit !== null && `${usd(charged * Number(perCredit)).short} · `}
          {creditsText(charged)}
        </span>
      )}
    </p>
  );
}

interface FactsProps {
  readonly decision: DecisionRead;
  readonly perCredit: string | null;
}

/** What was asked for, and where more of it is. */
function Facts({ decision }: { readonly decision: DecisionRead }) {
  const { id, session, agent, facts, policy_revision, labels, trace_url } = decision;
  const [{ share } = { share: null }] = facts.task_shares;
  const named = Object.entries(labels ?? {});
  return (
    <dl class="facts">
      <dt>ID</dt>
      <dd>
        <Copy text={id} label="the ID of the request" />
      </dd>
      <dt>Asked for</dt>
      <dd>{facts.alias === null ? facts.model : `${facts.alias}, an alias of ${facts.model}`}</dd>
      <dt>Task</dt>
      <dd>
        {facts.task === 'unread' ? 'Not read, as nothing depends on it' : facts.task}
        {share !== null && share < 1 && `, ${percent(share).short} sure`}
        {facts.difficulty !== 'usual' && `, ${facts.difficulty}`}
      </dd>
      {facts.needs.length > 0 && (
        <>
          <dt>Needs</dt>
          <dd>{facts.needs.join(', ').replaceAll('_', ' ')}</dd>
        </>
      )}
      <dt>Tokens</dt>
      <dd>{tokensText(decision)}</dd>
      {session !== null && (
        <>
          <dt>Session</dt>
          <dd>
            <a href={hrefWith({ session, again: null }, '/requests')}>{session}</a>
            {agent !== null && <span class="dim"> by {agent}</span>}
          </dd>
        </>
      )}
      {named.length > 0 && (
        <>
          <dt>Labels</dt>
          <dd>
            {named.map(([name, value]) => (
              <a
                key={name}
                class="requests-label"
                href={hrefWith({ label: `${name}=${value}`, again: null }, '/requests')}
              >
                {name}={value}
              </a>
            ))}
          </dd>
        </>
      )}
      {trace_url !== null && (
        <>
          <dt>Trace</dt>
          <dd>
            <a href={trace_url} target="_blank" rel="noreferrer">
              Find its trace
            </a>
            <span class="dim"> in another tab, if it was sampled</span>
          </dd>
        </>
      )}
      <dt>Policy</dt>
      <dd class="mono">{policy_revision}</dd>
    </dl>
  );
}

function tokensText({ outcome, facts }: DecisionRead): string {
  const usage = outcome?.usage;
  if (!usage) return `${figure(facts.estimated_input_tokens).short} expected in`;
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const note = cached > 0 ? ` (${figure(cached).short} from the cache)` : '';
  return `${figure(usage.prompt_tokens).short} in${note}, ${figure(usage.completion_tokens).short} out`;
}
