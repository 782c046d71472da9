import { Type } from '@sinclair/typebox';
import * as f from '../define/fields.ts';
import { OPERATION_NAMES } from '../kinds/operations.ts';
import type { AskedAddOns } from '../money/add-ons.ts';
import { type Microcredits, toCredits } from '../money/credits.ts';
import { CAPABILITY_NAMES, capabilityNames, SCHEMA_INSTEAD } from './capability.ts';
import { ESCALATION_NAMES, type Unescalated } from './escalation.ts';
import { byReason, FALLBACK_REASONS, type FallbackLists, listFor } from './fallbacks.ts';
import { TIERS } from './tiers.ts';

/**
 * The `task` of a request whose prompt was not read, because nothing depends on it. A request with the task `unread` counts as `general`.
 */
export const UNREAD_TASK = 'unread';

/** Whether Signalbox read the task, difficulty and languages of a request from its prompt. */
export const isIntentRead = ({ task }: Pick<Facts, 'task'>): boolean => task !== UNREAD_TASK;

/** Returns the selector of a request as records and metrics show it: `pinned` for a request that names its model. */
export const selectorIn = ({ model, named }: Pick<Facts, 'model' | 'named'>): string =>
  named === null ? model : 'pinned';

/**
 * The rules that apply to one request, by their index in the policy. Decision records store the rules that applied, so that a replay needs
 * neither the text nor the time.
 */
interface ActiveRules {
  readonly constraints: readonly number[];
  readonly preferences: readonly number[];
}

export const NO_RULES: ActiveRules = Object.freeze({ constraints: Object.freeze([]), preferences: Object.freeze([]) });

export const DIFFICULTIES = ['easy', 'usual', 'hard'] as const;

/** The models that a request names. */
interface NamedModels {
  readonly named: readonly string[] | null;
}
/** The caller's limits on the expected cost and latency. */
interface Ceilings {
  readonly ceilings: { readonly costCredits: number | null; readonly latencyMs: number | null };
}
/** The money that the policy's budgets and the key's balance leave; null if none applies. */
interface Funds {
  readonly funds: FundFacts | null;
}

/** The amount in Credits; null for none. */
const creditsOrNull = (amount: Microcredits | null | undefined) => (amount == null ? null : toCredits(amount));
const ofSignal = f.from<Unescalated>();

/**
 * The facts of a request that answers show, by their names there. Each fact is stated once: its row gives its type in the program, its position
 * among the facts of a record, its form in answers and its documentation. Records of earlier builds lack a new fact, so it is `orAbsent`,
 * and it takes the position after the last one. Comments say what only the program needs to know.
 */
const FACTS = {
  operation: f.stored(26, f.word(OPERATION_NAMES, 'The operation of the request.')),
  model: f.stored(
    0,
    f.text('The selector or the ID of the model that the request named as `model`. An alias is resolved.', 'auto'),
  ),
  alias: f.stored(27, f.textOrNull('The alias that the request used as `model`; null if the request used no alias.')),
  pinned: f.stored(
    1,
    f.from<NamedModels>()(({ named }) => named !== null, f.flag('True when the request named one model.')),
  ),
  /** If the request names its model, `named` contains them, too. */
  fallbacks: f.stored(
    40,
    f.orAbsent(
      null,
      f.orNull(
        f.shown(
          (lists: FallbackLists) => ({ by: lists.by, ...byReason((reason) => [...listFor(lists, reason)]) }),
          f.row({
            by: f.word(['policy', 'request'], 'Whose list it is.', 'policy'),
            ...byReason((reason) => f.textList(`Models to try ${FALLBACK_REASONS[reason].when}.`, [])),
          }),
        ),
        'The models to try next, by reason, as the policy or the request lists them; null if the policy ranks the fallbacks itself.',
        null,
      ),
    ),
  ),
  task: f.stored(
    2,
    f.text(
      'The task type that Signalbox recognized; `unread` if the request named a model and nothing depended on the task.',
      'coding',
    ),
  ),
  /** Shares sum to 1. */
  task_shares: f.stored(
    19,
    f.as(
      'mix',
      f.rows(
        'The possible tasks, most likely first; empty if `task` is certain.',
        {
          task: f.text('A task type.', 'coding'),
          share: f.share('The probability of this task.'),
        },
        [],
      ),
    ),
  ),
  /** A request whose difficulty is in doubt counts as `usual`. */
  difficulty: f.stored(
    25,
    f.word(
      DIFFICULTIES,
      '`easy` for a plainly easy question such as a greeting; `hard` for a question that needs an expert, such as a proof, and for an agent that is stuck; otherwise `usual`.',
      'usual',
    ),
  ),
  stuck: f.stored(
    37,
    f.orAbsent(
      null,
      f.shapeOrNull(
        'The signs that the agent is stuck, read from its tool calls since the user began the task; null if it makes progress, or if the request is not an agent’s.',
        {
          same_failures: f.count(
            'How often a call failed again in the same way, although the agent tried something else.',
            2,
          ),
          failing_runs: f.count(
            'The failing runs of one command since its last success, or the calls that failed in a row; 0 if there was only one.',
            3,
          ),
          undone_edits: f.count('Edits that restored an earlier text, and commands that did so.', 1),
          repeated_calls: f.count(
            'Calls that repeated an earlier call, or ran it after a change, with the same result.',
            0,
          ),
        },
        null,
      ),
    ),
  ),
  escalation: f.stored(
    42,
    f.orAbsent(
      null,
      f.shapeOrNull(
        'The latest signal that an earlier answer of the conversation failed, because of which the strong tier decides; null for none.',
        {
          signal: f.word(ESCALATION_NAMES, 'What failed.', 'correction'),
          turns_ago: f.count('The number of answers since the signal.', 0),
        },
        null,
      ),
    ),
  ),
  unescalated: f.stored(
    44,
    f.orAbsent(
      null,
      f.orNull(
        f.viewRow<Unescalated>()({
          signal: f.word(ESCALATION_NAMES, 'What failed.', 'correction'),
          turns_ago: f.count('The number of answers since the signal.', 0),
          why: ofSignal(
            ({ isUnpaid }) => (isUnpaid ? 'money' : 'share_max'),
            f.word(
              ['share_max', 'money'],
              'Why: the key had too many escalated conversations, or its money cannot pay for the strong tier.',
              'share_max',
            ),
          ),
          escalated: ofSignal(
            ({ share }) => share?.escalated ?? null,
            f.wholeOrNull('Escalated conversations of the key in the last hour; null if unknown.', 4),
          ),
          conversations: ofSignal(
            ({ share }) => share?.conversations ?? null,
            f.wholeOrNull('All conversations of the key in the last hour; null if unknown.', 20),
          ),
        }),
        'A signal that did not move the conversation to the strong tier; null for none.',
        null,
      ),
    ),
  ),
  /** A score of the answer finds the conversation by its ID. */
  conversation: f.stored(
    43,
    f.orAbsent(
      null,
      f.shapeOrNull(
        'The conversation of the request; null if the policy follows no conversations, and without a tier.',
        {
          id: f.text(
            'A keyed hash of the key, the names of user and session, and the first messages.',
            'p5cX0Zl2Vq8sKd1n',
          ),
          answers: f.count('The number of answers that the request contained.', 2),
        },
        null,
      ),
    ),
  ),
  guards: f.stored(
    45,
    f.orAbsent(
      null,
      f.orNull(
        Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
        'How many matches each guard found in the request, as constraints read it; null if no guard found any.',
      ),
    ),
  ),
  /** For a named model, a selector without tiers, the caller's own weights or ceilings, and a stated task, all models are ranked. */
  first_tier: f.stored(
    41,
    f.as(
      'tier',
      f.orAbsent(
        null,
        f.shapeOrNull(
          'The tier that the conversation begins with, by its first question; null if all models are ranked for the request.',
          {
            name: f.word(TIERS, 'The tier.', 'usual'),
            hard: f.share('How likely the first question is hard.', 0.12),
          },
        ),
      ),
    ),
  ),
  task_stated: f.stored(
    46,
    f.as(
      'isTaskStated',
      f.orAbsent(false, f.flag('Whether the caller stated the task, so that the qualities of the task count.', false)),
    ),
  ),
  natural_language: f.stored(20, f.text('The language of the question, as ISO 639-1; `und` if unknown.', 'en')),
  /** Canonical names, ascending. */
  languages: f.stored(
    21,
    f.as(
      'languagesSeen',
      f.textList(
        'Programming languages that the question is about, in canonical names. These languages do not exclude any model.',
        ['python'],
      ),
    ),
  ),
  /** Independent of any model's tokenizer. Neither this nor the maximum includes the tokens of audio and PDFs. */
  estimated_input_tokens: f.stored(3, f.as('inputTokens', f.count('Expected input tokens.', 120))),
  /** The bytes of the text, and what dialects add around messages and tools. Images are not included. */
  max_input_tokens: f.stored(
    4,
    f.as('inputTokensMax', f.count('The most input tokens that the text can have with any tokenizer.', 400)),
  ),
  counted_input_tokens: f.stored(
    22,
    f.as(
      'inputTokensCounted',
      f.orNull(
        Type.Record(Type.String(), Type.Integer()),
        'The most input tokens that the text can have, with the tokenizer that counted it; null if an exact count was not needed.',
      ),
    ),
  ),
  /** `margin`: the most that the service may bill beyond its count, as its adapter declares. */
  service_counts: f.stored(
    34,
    f.orAbsent(
      null,
      f.orNull(
        Type.Record(Type.String(), Type.Object({ tokens: Type.Integer(), margin: Type.Integer() })),
        'By model, the tokens of the prompt with its PDFs as the model’s provider counted them, and the most tokens that the provider may bill beyond this count; null if no such count was needed.',
        null,
      ),
    ),
  ),
  cached_input_tokens: f.stored(
    24,
    f.as(
      'cached',
      f.shown(
        (cached: readonly CachedTokens[]) => Object.fromEntries(cached.map(({ model, tokens }) => [model, tokens])),
        f.mapOf(
          f.count('Tokens.', 1_800),
          'By ID of the model, the input tokens that its provider probably has in its cache.',
        ),
      ),
    ),
  ),
  images: f.stored(5, f.count('Images in the request.')),
  audio_bytes: f.stored(18, f.count('Bytes of audio in the request, decoded.')),
  pdfs: f.stored(33, f.count('PDF files in the request, including files given by URL or ID.')),
  pages: f.stored(28, f.count('The expected number of pages of the PDF files, computed from their bytes.')),
  unbounded_media: f.stored(6, f.count('Other media whose number of tokens has no known bound.')),
  estimated_output_tokens: f.stored(
    7,
    f.as(
      'outputTokens',
      f.wholeOrNull('Output tokens of one choice that the caller expects; null if the request does not state them.'),
    ),
  ),
  /** By words ("in one word", "2,000 words"), by a schema, by the text to translate or shorten, or because the request is plainly easy. */
  asked_output_tokens: f.stored(
    23,
    f.as(
      'outputTokensAsked',
      f.wholeOrNull(
        'Output tokens of one choice, estimated from the words, the schema and the text of the request. Null if the default of the task is used.',
      ),
    ),
  ),
  max_tokens: f.stored(
    8,
    f.as('outputTokensMax', f.wholeOrNull('The caller’s limit on the output tokens of one choice.')),
  ),
  min_output_tokens: f.stored(
    35,
    f.as(
      'outputTokensMin',
      f.orAbsent(null, f.wholeOrNull('The smallest cap on the output tokens of one choice that the answer may get.')),
    ),
  ),
  n: f.stored(9, f.as('choices', Type.Integer({ minimum: 1, description: 'The number of choices requested.' }))),
  /** Bits of `CAPABILITIES`. */
  needs: f.stored(
    10,
    f.shown(
      capabilityNames,
      f.list(f.word(CAPABILITY_NAMES, 'A capability.'), 'The capabilities that the model must have.', ['tools']),
    ),
  ),
  adapts_forced_tool: f.from<{ readonly needs: number }>()(
    ({ needs }) => (needs & SCHEMA_INSTEAD) !== 0,
    f.flag(
      'True if a model that does not accept a forced function call may answer with the JSON schema of the function’s parameters instead.',
      false,
    ),
  ),
  required_languages: f.stored(
    11,
    f.as(
      'languages',
      f.textList('Programming languages that the model must handle, in canonical names.', ['typescript']),
    ),
  ),
  route_strategy: f.stored(
    12,
    f.as(
      'weights',
      f.shapeOrNull(
        'The weights that the caller sent, with missing weights from the policy; null if the caller sent none.',
        {
          cost_weight: f.as('cost', f.figure('The weight of cost. Only the ratio of the weights matters.')),
          quality_weight: f.as('quality', f.figure('The weight of quality.')),
          latency_weight: f.as('latency', Type.Optional(f.figure('The weight of latency; absent for 0.'))),
        },
        null,
      ),
    ),
  ),
  max_cost_credits: f.from<Ceilings>()(
    ({ ceilings }) => ceilings.costCredits,
    f.figureOrNull('The caller’s limit on the expected cost. In Credits.'),
  ),
  max_latency_ms: f.from<Ceilings>()(
    ({ ceilings }) => ceilings.latencyMs,
    f.figureOrNull('The caller’s limit on the expected latency. In ms.'),
  ),
  budget_limit: f.stored(
    14,
    f.as('budget', f.orNull(f.shown(toCredits, Type.Number()), 'The most that the request may spend. In Credits.')),
  ),
  max_funded_credits: f.from<Funds>()(
    ({ funds }) => creditsOrNull(funds?.free),
    f.figureOrNull(
      'The amount that budgets with `on_exhausted: downgrade` had left; null without such a budget. If other budgets could not pay for a named model, they count, too. In Credits.',
    ),
  ),
  capping_fund: f.from<Funds>()(
    ({ funds }) => funds?.cap ?? null,
    f.shapeOrNull('Of the funds that cap the output, the fund with the least money left; null if no fund does.', {
      name: f.as('by', f.text('The name of a budget, or `balance` for a balance.', 'team-month')),
      unspent_credits: f.as(
        'unspent',
        f.credits(
          'The Credits that the fund had left, not counting requests in progress. The output was capped at this amount.',
          4.67,
        ),
      ),
    }),
  ),
  /** What the key and each level above it allow. It already lacks the denied models. */
  key_models: f.stored(15, f.as('allowedModels', f.textListOrNull('The models that the key may use; null for all.'))),
  key_not_models: f.stored(
    38,
    f.as(
      'deniedModels',
      f.orAbsent(
        null,
        f.textListOrNull('The models of the policy that the key may not use; null if it has no such list.', null),
      ),
    ),
  ),
  embedding: f.stored(
    30,
    f.as(
      'texts',
      f.orAbsent(
        null,
        f.shapeOrNull(
          'The texts, for an operation such as `embed`; null for a conversation.',
          {
            inputs: f.count('Number of texts.', 3),
            longest_input_tokens: f.as('longest', f.count('Expected tokens of the longest text.', 120)),
            dimensions: f.wholeOrNull('The requested length of the vectors; null for the model’s default.', null),
          },
          null,
        ),
      ),
    ),
  ),
  /** The next turn must go to the service that stores the history. `inputTokens` includes the tokens of the history. */
  thread: f.stored(
    31,
    f.orAbsent(
      null,
      f.shapeOrNull(
        'The history of the conversation that a provider stores; null if there is none.',
        {
          model: f.text('The model that continues the conversation.', 'gpt-6-luna'),
          endpoints: f.list(
            Type.Integer(),
            'Positions of the model’s endpoints that have the history, counted from 0.',
            [0],
          ),
          tokens: f.count('Expected tokens of the stored history.', 4_200),
        },
        null,
      ),
    ),
  ),
  thought_readers: f.stored(
    32,
    f.as(
      'readers',
      f.orAbsent(
        null,
        f.textListOrNull(
          'The models that can read the reasoning that belongs to the unfinished tool calls; null if all models can, or if there is no such reasoning.',
          null,
        ),
      ),
    ),
  ),
  add_ons: f.stored(
    29,
    f.orAbsent(
      null,
      f.orNull(
        f.viewRow<AskedAddOns>()({
          tier: f.orAbsent(
            null,
            f.textOrNull(
              'The service tier that the request asks for, such as `flex`; null for the default tier.',
              null,
            ),
          ),
          units: f.textList(
            'The units that the provider bills only because the request asks for them, such as `cache_write_1h`.',
            [],
          ),
          tool_uses: f.mapOf(Type.Integer(), 'The most uses of each tool that the provider runs, by name of the tool.'),
          rereadings: f.count('How often the model may read its context again, once after each use of such a tool.'),
          unpriced: f.textList('Fields of the request that change the bill, but have no price in the catalog.', []),
        }),
        'What the provider may bill in addition to tokens; null for nothing.',
      ),
    ),
  ),
};

/** Facts that only the program and its records have, or that answers have in another form. */
const INTERNAL = {
  /** The IDs of the models that the request names, in the order in which they are tried; null if a selector chooses the model. */
  named: f.stored(39, f.inProgram<NamedModels['named']>()),
  ceilings: f.stored(13, f.inProgram<Ceilings['ceilings']>()),
  funds: f.stored(17, f.inProgram<Funds['funds']>()),
  /** The policy's rules that apply to the request. */
  rules: f.stored(16, f.inProgram<ActiveRules>()),
  /**
   * Whether a model whose maximum is below `outputTokensMax` serves the request with its output capped. Absent if such a model is rejected
   * instead, or if `outputTokensMax` exceeds neither a model's maximum nor the default of a named model.
   */
  caps_output: f.stored(36, f.orAbsent(null, f.inProgram<true>())),
};

/** Everything that a decision knows about a request. Facts contain no text of the request. */
export interface Facts extends f.ObjectValue<typeof FACTS & typeof INTERNAL> {}
export const FactsAnswer = f.view<Facts>()(
  'The facts that the decision was based on. The facts contain no text of the request.',
  FACTS,
);

/** Facts as a record has them. It also states whether the request names models, because a list of one of them is not stored. */
export interface RecordedFacts extends Facts {
  readonly pinned: boolean;
}
export const StoredFacts = f.viewRow<Facts>()({ ...FACTS, ...INTERNAL });

export type Difficulty = Facts['difficulty'];
export type TaskShare = Facts['mix'][number];
/** A service's own count of a prompt's input tokens. */
export type ServiceCount = Readonly<NonNullable<Facts['serviceCounts']>[string]>;
/** The signs by which a session of an agent was recognized as stuck. All signs are numbers of calls. */
export type StuckSigns = NonNullable<Facts['stuck']>;
/** A request's place in its conversation. */
export type ConversationPlace = NonNullable<Facts['conversation']>;

/** Input tokens that the cache of a model's provider has. */
export interface CachedTokens {
  /** ID of the model. */
  readonly model: string;
  readonly tokens: number;
  /** Index of the endpoint whose cache has the tokens; absent for the model's first endpoint. */
  readonly at?: number;
}

/** The limits that funds set on a request. The limits of funds are hard: a request whose cost has no bound may not draw on a fund. */
export interface FundFacts {
  /**
   * The highest worst-case cost that funds with `downgrade` can pay, microcredits; null without such a fund. If the other funds cannot pay
   * for a named model, it is also the highest that they can pay.
   */
  readonly free: Microcredits | null;
  /** The fund that caps outputs; absent without one. */
  readonly cap?: FundCap;
}

/** The fund with the least money among the funds that cap outputs. */
export interface FundCap {
  /** The name of a budget, or `balance`. */
  readonly by: string;
  /**
   * Microcredits that the fund has left once all open holds are released. The output is capped so that the request costs at most the
   * unspent amount.
   */
  readonly unspent: Microcredits;
}
