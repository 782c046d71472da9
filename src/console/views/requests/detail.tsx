import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { isForbidden } from '../../api/failure.ts';
import { type Resource, useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Copy } from '../../design/copy.tsx';
import { exactTime, figure, percent } from '../../design/format.ts';
import { Panel } from '../../design/panel.tsx';
import { Empty, Failure, Loaded, Partial, Skeleton } from '../../design/states.tsx';
import { NamedState, type StateWords } from '../../design/tag.tsx';
import { bothText, When } from '../../design/written.tsx';
import { Facts } from '../../kit/show.tsx';
import { hrefWith } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { Attempts } from './attempts.tsx';
import { cacheText } from './cache.tsx';
import { DecidedCandidates } from './candidates.tsx';
import { type DecisionRead, plainText, sentencesAbout } from './decision-read.ts';
import { GuardFindings, Labels, listHref, STATUSES } from './list.tsx';
import { MoneyOfRequest } from './money.tsx';
import { RefusedRequest } from './refusal.tsx';
import { Again, Told } from './told.tsx';

/**
 * Shows a request: why the request got its model or was refused, how long it took, and what it cost.
 * @param id the ID of a decision or of a request
 */
export const RequestDetail = ({ id }: { readonly id: string }) => (
  <Panel title="Request" closeHref={hrefWith({ again: null }, '/requests')} isWide>
    {id.startsWith('req_') ? <FoundByRequest id={id} /> : <FoundByDecision id={id} />}
  </Panel>
);

function FoundByDecision({ id }: { readonly id: string }) {
  const decision = useResource(`/admin/decisions/${id}`);
  return <Found of={decision}>{(known) => (known.id === id ? <Story decision={known} /> : null)}</Found>;
}

function FoundByRequest({ id }: { readonly id: string }) {
  const request = useResource(`/admin/requests/${id}`);
  return (
    <Found of={request}>
      {(known) =>
        known.refusal === null ? (
          <FoundByDecision id={known.id} />
        ) : (
          <RefusedRequest found={known} refusal={known.refusal} />
        )
      }
    </Found>
  );
}

interface FoundProps<Data> {
  readonly of: Resource<Data>;
  children(known: Data): ComponentChildren;
}

/** Shows what was read, or that no such request was found. */
const Found = <Data,>({ of, children }: FoundProps<Data>) =>
  of.data === null && of.failure?.status === 404 ? (
    <NotFound />
  ) : (
    <Loaded what="The request’s facts" of={of}>
      {children}
    </Loaded>
  );

const NotFound = () => (
  <Empty title="This request was not found">
    Its record was deleted, the request is still running on another server, or your role may not see it. Of many refused
    requests in one minute, Signalbox stores only the number.
  </Empty>
);

function Story({ decision }: { readonly decision: DecisionRead }) {
  const { id, outcome, status, candidates, choice, policy_revision: revision, sentences } = decision;
  const money = useResource(`/admin/decisions/${id}/money`);
  return (
    <div class="stack requests-detail">
      <section aria-label="Why" class="stack-tight">
        <Summary decision={decision} />
        <Told {...{ sentences, revision }} />
        <Repetition decision={decision} />
      </section>
      {candidates && (
        <section aria-label="Candidates" class="stack-tight">
          <DecidedCandidates {...{ candidates, choice, sentences, revision }} />
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
        <RequestFacts decision={decision} />
      </section>
      {status !== 'running' && reachOfViewer('content.read') !== null && (
        <section aria-label="Content" class="stack-tight">
          <h2>Content</h2>
          <Content key={id} id={id} />
        </section>
      )}
      {reachOfViewer('decisions.repeat') !== null && (
        <section aria-label="Today" class="stack-tight">
          <h2>Today</h2>
          <Again key={id} decision={decision} />
        </section>
      )}
    </div>
  );
}

/** Says whether the decision, made again from its record, is the same. An answer without a model has no decision. */
function Repetition({ decision: { sentences, replay } }: DecisionProps) {
  const told = plainText(sentencesAbout(sentences, 'replay'));
  if (told === '') return null;
  return replay.matches === true ? <p class="small dim">{told}</p> : <Partial>{told}</Partial>;
}

interface DecisionProps {
  readonly decision: DecisionRead;
}

/** Only a detail can show a running request; lists contain finished requests. */
const DETAIL_STATUSES: StateWords = { ...STATUSES, running: ['quiet', 'Running'] };

/** Shows a line about the request: its status, its time, its key and its charge. */
function Summary({ decision: { outcome, status, time, key_id, key_name } }: { readonly decision: DecisionRead }) {
  const charged = outcome?.credits_consumed ?? null;
  const key = key_name ?? key_id;
  return (
    <p class="row dim requests-summary">
      <NamedState name={status} of={DETAIL_STATUSES} />
      {outcome?.error && <span class="mono">{outcome.error}</span>}
      <When at={time} />
      {key !== null && <span title={key_id ?? undefined}>by {key}</span>}
      {charged !== null && (
        <span class="figure">for {bothText({ usd: outcome?.charged_usd ?? null, credits: charged })}</span>
      )}
    </p>
  );
}

/** The request's model, task, tokens, session, labels, trace and policy. */
const RequestFacts = ({ decision }: { readonly decision: DecisionRead }) => (
  <Facts
    of={decision}
    facts={[
      ['ID', ({ id }) => <Copy text={id} label="the ID of the request" />],
      ['Requested model', ({ facts: { alias, model } }) => (alias === null ? model : `${alias}, an alias of ${model}`)],
      ['Reason', ({ route_reason }) => <span class="mono">{route_reason}</span>],
      ['Task', taskText],
      ['Needs', ({ facts }) => facts.needs.join(', ').replaceAll('_', ' ')],
      ['Tokens', tokensText],
      [
        'Session',
        ({ session, agent }) =>
          session !== null && (
            <>
              <a href={listHref({ session })}>{session}</a>
              {agent !== null && <span class="dim"> by {agent}</span>}
            </>
          ),
      ],
      [
        'Guards',
        ({ outcome }) =>
          outcome && <GuardFindings texts={[...outcome.guards, ...outcome.guard_calls].map(({ text }) => text)} />,
      ],
      ['Cache', cacheText],
      ['Labels', ({ labels }) => labels && Object.keys(labels).length > 0 && <Labels of={labels} />],
      [
        'Trace',
        ({ trace_url }) =>
          trace_url !== null && (
            <>
              <a href={trace_url} target="_blank" rel="noreferrer">
                Open the trace
              </a>
              <span class="dim"> in a new tab, if the trace was sampled</span>
            </>
          ),
      ],
      ['Policy', ({ policy_revision }) => <span class="mono">{policy_revision}</span>],
    ]}
  />
);

function taskText({ facts: { task, difficulty, task_shares } }: DecisionRead): string {
  const [{ share } = { share: null }] = task_shares;
  const sure = share !== null && share < 1 ? `, ${percent(share).short} sure` : '';
  const read = task === 'unread' ? 'not determined, because no rule or score uses it' : task;
  return `${read}${sure}${difficulty === 'usual' ? '' : `, ${difficulty}`}`;
}

function tokensText({ outcome, facts }: DecisionRead): string {
  const usage = outcome?.usage;
  if (!usage) return `${figure(facts.estimated_input_tokens).short} expected in`;
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const note = cached > 0 ? ` (${figure(cached).short} from the cache)` : '';
  return `${figure(usage.prompt_tokens).short} in${note}, ${figure(usage.completion_tokens).short} out`;
}

/**
 * The text of the request and the answer, if the server stores the text and the viewer may read it. The server logs each read of a text, so
 * the viewer must click first.
 */
function Content({ id }: { readonly id: string }) {
  const [isWanted, setWanted] = useState(false);
  const { data, failure, renew } = useResource(`/admin/decisions/${id}/content`, {}, { isWanted });
  if (!isWanted) {
    return (
      <div class="row">
        <Button onClick={() => setWanted(true)}>Read the text</Button>
        <span class="small dim">You can read the text if the policy keeps it. Signalbox logs who reads it.</span>
      </div>
    );
  }
  if (failure?.status === 404) return <p class="dim">The policy does not keep the text of this request.</p>;
  if (failure && isForbidden(failure)) return <p class="dim">Your role may not read the text of this request.</p>;
  if (failure) return <Failure what="The text" failure={failure} onRetry={renew} />;
  if (!data) return <Skeleton />;
  return (
    <div class="stack-tight">
      {data.is_cut && <Partial>The text was too long to keep in full, so its end is missing.</Partial>}
      {data.prompt === null ? <p class="dim">Prompts are not kept.</p> : <Words label="Prompt" turns={data.prompt} />}
      {data.answer === null ? <p class="dim">Answers are not kept.</p> : <Words label="Answer" turns={data.answer} />}
      <p class="small dim">Kept until {exactTime(Date.parse(data.kept_until))}.</p>
    </div>
  );
}

const Words = ({ label, turns }: { readonly label: string; readonly turns: readonly unknown[] }) => (
  <section aria-label={label}>
    <h3>{label}</h3>
    {turns.map(turnOf).map(({ who, text }, at) => (
      <div key={at} class="stack-tight">
        {who !== '' && <span class="small dim">{who}</span>}
        <section
          class="scrolled"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text scrolls, by keys, too
          tabIndex={0}
          aria-label={who === '' ? `${label} ${at + 1}` : `${label}, ${at + 1}, ${who}`}
        >
          <pre>{text}</pre>
        </section>
      </div>
    ))}
  </section>
);

/** A stored message: its author and its text. Parts that are not text are shown as JSON. */
function turnOf(turn: unknown): { readonly who: string; readonly text: string } {
  if (typeof turn !== 'object' || turn === null) return { who: '', text: String(turn) };
  const { role, content, index: _, ...rest }: Readonly<Record<string, unknown>> = { ...turn };
  const parts = Array.isArray(content) ? content : content == null ? [] : [content];
  const others = Object.keys(rest).length > 0 ? [rest] : [];
  return { who: typeof role === 'string' ? role : '', text: [...parts, ...others].map(partText).join('\n\n') };
}

function partText(part: unknown): string {
  if (typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string') return part.text;
  return typeof part === 'string' ? part : JSON.stringify(part, null, 2);
}
