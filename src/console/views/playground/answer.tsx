import { hasVectors } from '../../../core/kinds/operations.ts';
import { numberOf, textOf } from '../../api/json.ts';
import { Button } from '../../design/button.tsx';
import { Explained } from '../../design/explained.tsx';
import { duration, figure, NONE } from '../../design/format.ts';
import { Hero, Heroes } from '../../design/hero.tsx';
import { NamedState, type StateWords } from '../../design/tag.tsx';
import { bothText, Coded, creditsText, moneyFigure } from '../../design/written.tsx';
import { Facts } from '../../kit/show.tsx';
import { hrefOf } from '../../shell/router.ts';
import { operationOf } from './body.ts';
import type { Amount, Run } from './run.ts';
import type { Speech } from './wire.ts';

const STATES: StateWords = {
  waiting: ['quiet', 'Waiting'],
  writing: ['quiet', 'Writing'],
  done: ['good', 'Done'],
  stopped: ['warn', 'Stopped'],
  failed: ['bad', 'Failed'],
};

/** Whether the request is in progress. */
export const isUnderWay = ({ state }: Run): boolean => state === 'waiting' || state === 'writing';

interface RunProps {
  readonly run: Run;
}

/** Shows the answer while it streams, the times that this page measured, and the receipt. */
export function AnswerCard({ run, onStop }: RunProps & { onStop(): void }) {
  const { parts, failure } = run;
  return (
    <section class="card playground-answer" aria-labelledby="answer">
      <div class="card-head">
        <h2 id="answer">{headingOf(run)}</h2>
        <div class="row">
          <span role="status">
            <NamedState name={run.state} of={STATES} />
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
            <Coded text={failure.message} /> <code>{failure.code}</code>
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
        <Choice key={index} which={parts.choices.size > 1 || index > 0 ? ` ${index + 1}` : ''} speech={speech} />
      ))}
      <Times run={run} />
      <div class="stack-tight">
        <HoldBar run={run} />
        <Receipt run={run} />
      </div>
    </section>
  );
}

interface ChoiceProps {
  /** The number of the choice after a space, if there are several choices. */
  readonly which: string;
  readonly speech: Speech;
}

/** The text, reasoning and tool calls of one choice. */
const Choice = ({ which, speech: { text, thought, calls } }: ChoiceProps) => (
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

function headingOf({ parts, record, state, dialect }: Run): string {
  const model = textOf(parts.platform?.routed_model) ?? textOf(record?.receipt?.routed_model);
  if (model) return `${model} answered`;
  if (state === 'failed') return 'No answer';
  return hasVectors(operationOf(dialect)) ? 'Vectors' : 'Answer';
}

/** An amount of the receipt. Its USD come with the decision record, which is written after the answer. */
function amountOf(credits: number | null, usd: string | null | undefined): Amount | null {
  return credits === null ? null : { credits, usd: usd ?? null };
}

const chargedOf = ({ parts, record }: Run): Amount | null =>
  amountOf(
    numberOf(parts.platform?.credits_consumed) ?? numberOf(record?.outcome?.credits_consumed),
    record?.outcome?.charged_usd,
  );

const savedOf = ({ parts, record }: Run): Amount | null =>
  amountOf(
    numberOf(parts.platform?.cost_saved_credits) ?? numberOf(record?.outcome?.cost_saved_credits),
    record?.outcome?.saved_usd,
  );

function Times({ run }: RunProps) {
  const { parts, record, firstMs, endMs, isStreamed } = run;
  const output = parts.usage?.output ?? numberOf(record?.outcome?.usage?.completion_tokens) ?? null;
  const writtenMs = firstMs === null || endMs === null ? 0 : endMs - firstMs;
  const charged = chargedOf(run);
  const saved = savedOf(run);
  const measured = [isStreamed ? 'measured in this page' : 'only for a stream'];
  const money = (amount: Amount | null) => (amount === null ? NONE : moneyFigure(amount));
  return (
    <Heroes>
      <Hero label="First token" value={duration(isStreamed ? firstMs : null)} notes={measured} />
      <Hero
        label="Tokens a second"
        value={figure(isStreamed && output !== null && writtenMs > 0 ? (output * 1_000) / writtenMs : null)}
        notes={measured}
      />
      <Hero
        label="Charged"
        value={money(charged)}
        notes={[charged === null ? 'with the receipt' : creditsText(charged.credits)]}
      />
      <Hero
        label="Saved"
        term="saved"
        value={money(saved)}
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

/**
 * The Credits of the request: expected amounts until the request is settled, then the ledger's entries (first hold, tranches, charge), and
 * details of the decision record.
 */
function Receipt({ run }: RunProps) {
  const { parts, record, hold, money: books, endMs } = run;
  const charged = chargedOf(run);
  const held = books?.entries.find(({ kind }) => kind === 'reserve');
  const tranches = books?.entries.filter(({ kind }) => kind === 'raise').length ?? 0;
  const reason = textOf(parts.platform?.route_reason) ?? record?.route_reason ?? null;
  const attempts = (record?.outcome?.attempts ?? []).map(
    ({ model, provider, ms, failure }) =>
      `${model} at ${provider}, ${duration(ms).short}${failure ? ` (${failure})` : ''}`,
  );
  return (
    <Facts
      of={run}
      facts={[
        [
          <Explained key="held" term="held">
            Held first
          </Explained>,
          () =>
            held !== undefined
              ? bothText(held)
              : hold.first !== null && `${bothText(hold.first)}, expected before the request was sent`,
        ],
        [
          'Tranches',
          () => books && tranches > 0 && `${tranches} more, so that ${bothText(books.sums.held)} were held in total`,
        ],
        [
          'Charged',
          () =>
            charged !== null &&
            [
              bothText(charged),
              parts.usage && ` for ${figure(parts.usage.input).short} tokens in`,
              parts.usage && parts.usage.output !== null && ` and ${figure(parts.usage.output).short} out`,
              record?.outcome?.estimated && ', counted here',
            ]
              .filter(Boolean)
              .join(''),
        ],
        ['Released', () => books && books.state !== 'none' && bothText(books.sums.released)],
        ['Capped by', () => textOf(parts.platform?.output_capped_by) ?? record?.outcome?.output_capped_by],
        ['Reason', () => reason && <span class="mono">{reason}</span>],
        ['Instead of', () => record?.instead_of && `${record.instead_of.model}: ${record.instead_of.text}`],
        ['Attempts', () => attempts.join('; ')],
        ['Total time', () => endMs !== null && `${duration(Math.round(endMs)).short}, measured in this page`],
        ['Decision', ({ decisionId: id }) => id && <a href={hrefOf(`/requests/${id}`)}>{id}</a>],
      ]}
    />
  );
}

/** Shows the charge as a share of the hold. The list below has the same figures. */
function HoldBar({ run }: Pick<RunProps, 'run'>) {
  const { hold, money: books } = run;
  const charged = chargedOf(run)?.credits ?? 0;
  const held = books?.sums.held.credits ?? hold.first?.credits ?? 0;
  const whole = Math.max(held, books ? 0 : (hold.most ?? 0), charged);
  if (whole === 0) return null;
  return (
    <svg class="playground-hold" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect fill="var(--sunk)" width={100} height={8} />
      <rect fill="var(--edge)" width={(100 * held) / whole} height={8} />
      <rect fill="var(--accent)" width={(100 * charged) / whole} height={8} />
    </svg>
  );
}
