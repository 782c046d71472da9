import type { ComponentChildren } from 'preact';
import { Button } from '../../design/button.tsx';
import { Explained } from '../../design/explained.tsx';
import { duration, figure, usd } from '../../design/format.ts';
import { Hero, Heroes } from '../../design/hero.tsx';
import { State, type Tone } from '../../design/tag.tsx';
import { creditsText } from '../../design/written.tsx';
import { hrefOf } from '../../shell/router.ts';
import { numberOf, textOf } from './body.ts';
import type { Run } from './run.ts';
import type { Speech } from './wire.ts';

const STATES: Readonly<Record<Run['state'], { readonly tone: Tone; readonly word: string }>> = {
  waiting: { tone: 'quiet', word: 'Waiting' },
  writing: { tone: 'quiet', word: 'Writing' },
  done: { tone: 'good', word: 'Done' },
  stopped: { tone: 'warn', word: 'Stopped' },
  failed: { tone: 'bad', word: 'Failed' },
};

/** Whether the request is still under way. */
export const isUnderWay = ({ state }: Run): boolean => state === 'waiting' || state === 'writing';

/** The answer as it comes, its times by the clock of this page, and the receipt. */
export function AnswerCard({
  run,
  usdPerCredit,
  onStop,
}: {
  readonly run: Run;
  readonly usdPerCredit: number;
  onStop(): void;
}) {
  const { parts, failure } = run;
  const { tone, word } = STATES[run.state];
  return (
    <section class="card playground-answer" aria-labelledby="answer">
      <div class="card-head">
        <h2 id="answer">{headingOf(run)}</h2>
        <div class="row">
          <span role="status">
            <State tone={tone}>{word}</State>
          </span>
          {isUnderWay(run) && (
            <Button kind="danger" onClick={onStop}>
              Stop
            </Button>
          )}
        </div>
      </div>
      {failure && (
        <div class="notice notice-bad" role="alert">
          <span>
            {failure.message} <code>{failure.code}</code>
            {failure.field && (
              <>
                {' '}
                at <code>{failure.field}</code>
              </>
            )}
          </span>
        </div>
      )}
      {[...parts.choices].map(([index, speech]) => (
        <Choice key={index} index={index} of={parts.choices.size} speech={speech} />
      ))}
      <Times run={run} usdPerCredit={usdPerCredit} />
      <Receipt run={run} usdPerCredit={usdPerCredit} />
    </section>
  );
}

/** What one choice says, under its number where there are several. */
function Choice({
  index,
  of: count,
  speech: { text, thought, calls },
}: {
  readonly index: number;
  readonly of: number;
  readonly speech: Speech;
}) {
  const which = count > 1 || index > 0 ? ` ${index + 1}` : '';
  return (
    <>
      {which && <h3>Choice{which}</h3>}
      {thought && (
        <details>
          <summary>Reasoning</summary>
          <pre class="dim">{thought}</pre>
        </details>
      )}
      {text && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a long answer scrolls, also by the keyboard
        <section class="playground-text" aria-label={`Text of ${which ? `choice${which}` : 'the answer'}`} tabIndex={0}>
          <pre>{text}</pre>
        </section>
      )}
      {calls && (
        <>
          {which ? <h4>Tool calls</h4> : <h3>Tool calls</h3>}
          <pre>{calls.trim()}</pre>
        </>
      )}
    </>
  );
}

function headingOf({ parts, record, state, dialect }: Run): string {
  const model = textOf(parts.platform?.routed_model) ?? textOf(record?.receipt?.routed_model);
  if (model) return `${model} answered`;
  if (state === 'failed') return 'No answer';
  return dialect === 'embeddings' ? 'Vectors' : 'Answer';
}

const money = (credits: number | null, usdPerCredit: number) =>
  credits === null
    ? null
    : {
        short: usd(credits * usdPerCredit).short,
        exact: `${usd(credits * usdPerCredit).exact} · ${creditsText(credits)}`,
      };

function Times({ run, usdPerCredit }: { readonly run: Run; readonly usdPerCredit: number }) {
  const { parts, record, firstMs, endMs, isStreamed } = run;
  const output = parts.usage?.output ?? numberOf(record?.outcome?.usage?.completion_tokens) ?? null;
  const written = firstMs === null || endMs === null ? 0 : endMs - firstMs;
  const charged = chargedOf(run);
  const saved = numberOf(parts.platform?.cost_saved_credits) ?? numberOf(record?.outcome?.cost_saved_credits);
  return (
    <Heroes>
      <Hero
        label="First token"
        value={duration(isStreamed ? firstMs : null)}
        notes={[isStreamed ? 'measured in this page' : 'only for a stream']}
      />
      <Hero
        label="Tokens a second"
        value={figure(isStreamed && output !== null && written > 0 ? (output * 1_000) / written : null)}
        notes={[isStreamed ? 'measured in this page' : 'only for a stream']}
      />
      <Hero
        label="Charged"
        value={money(charged, usdPerCredit) ?? usd(null)}
        notes={[charged === null ? 'with the receipt' : creditsText(charged)]}
      />
      <Hero
        label="Saved"
        term="saved"
        value={money(saved, usdPerCredit) ?? usd(null)}
        notes={[
          saved === null ? (
            'with the receipt'
          ) : (
            <Explained key="baseline" term="baseline">
              against the baseline
            </Explained>
          ),
        ]}
      />
    </Heroes>
  );
}

const chargedOf = ({ parts, record }: Run): number | null =>
  numberOf(parts.platform?.credits_consumed) ?? numberOf(record?.outcome?.credits_consumed);

/** The money of the request from the hold to its release, and what the record says. */
function Receipt({ run, usdPerCredit }: { readonly run: Run; readonly usdPerCredit: number }) {
  const { parts, record, decisionId, endMs } = run;
  const capped = textOf(parts.platform?.output_capped_by) ?? record?.outcome?.output_capped_by ?? null;
  const reason = textOf(parts.platform?.route_reason) ?? record?.route_reason ?? null;
  const attempts = record?.outcome?.attempts ?? [];
  return (
    <div class="stack-tight">
      <HoldBar run={run} />
      <dl class="facts">
        <MoneyFacts run={run} usdPerCredit={usdPerCredit} />
        {capped && <Fact name="Capped by">{capped}</Fact>}
        {reason && (
          <Fact name="Reason">
            <span class="mono">{reason}</span>
          </Fact>
        )}
        {attempts.length > 0 && (
          <Fact name="Attempts">
            {attempts
              .map(
                ({ model, provider, ms, failure }) =>
                  `${model} at ${provider}, ${duration(ms).short}${failure ? ` (${failure})` : ''}`,
              )
              .join('; ')}
          </Fact>
        )}
        {endMs !== null && <Fact name="Whole time">{duration(Math.round(endMs)).short}, measured in this page</Fact>}
        {decisionId && (
          <Fact name="Decision">
            <a href={hrefOf(`/requests/${decisionId}`)}>{decisionId}</a>
          </Fact>
        )}
      </dl>
    </div>
  );
}

const heldFirst = <Explained term="held">Held first</Explained>;

const Fact = ({ name, children }: { readonly name: ComponentChildren; readonly children: ComponentChildren }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
);

/** What was held at first, in tranches since, and charged in the end: by the ledger once it is settled, until then as expected. */
function MoneyFacts({ run, usdPerCredit }: { readonly run: Run; readonly usdPerCredit: number }) {
  const { parts, record, hold, money: books } = run;
  const text = (credits: number): string => `${usd(credits * usdPerCredit).short} (${creditsText(credits)})`;
  const charged = chargedOf(run);
  const reserved = books?.entries.find(({ kind }) => kind === 'reserve');
  const tranches = books?.entries.filter(({ kind }) => kind === 'raise') ?? [];
  const raised = tranches.reduce((sum, { credits }) => sum + credits, 0);
  return (
    <>
      {reserved ? (
        <Fact name={heldFirst}>{text(reserved.credits)}</Fact>
      ) : (
        hold.first !== null && <Fact name={heldFirst}>{text(hold.first)}, as expected before it was sent</Fact>
      )}
      {tranches.length > 0 && (
        <Fact name="Tranches">
          {tranches.length} more, {text(raised)} together
        </Fact>
      )}
      {charged !== null && (
        <Fact name="Charged">
          {text(charged)}
          {parts.usage && ` for ${figure(parts.usage.input).short} tokens in`}
          {parts.usage && parts.usage.output !== null && ` and ${figure(parts.usage.output).short} out`}
          {record?.outcome?.estimated ? ', counted here' : ''}
        </Fact>
      )}
      {books && books.state !== 'none' && <Fact name="Released">{text(books.sums.released.credits)}</Fact>}
    </>
  );
}

/** The charge as a part of what was held. The list below says the same in words. */
function HoldBar({ run }: { readonly run: Run }) {
  const { hold, money: books } = run;
  const charged = chargedOf(run) ?? 0;
  const held = books?.sums.held.credits ?? hold.first ?? 0;
  const whole = Math.max(held, books ? 0 : (hold.most ?? 0), charged);
  if (whole === 0) return null;
  return (
    <svg class="playground-hold" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="playground-hold-most" width={100} height={8} />
      <rect class="playground-hold-first" width={(100 * held) / whole} height={8} />
      <rect class="playground-hold-charged" width={(100 * charged) / whole} height={8} />
    </svg>
  );
}
