import type { Operation } from '../kinds/operations.ts';
import type { AskedAddOns } from '../money/add-ons.ts';
import type { Microcredits } from '../money/credits.ts';
import type { TextFacts } from './embedding.ts';
import type { FallbackLists } from './fallbacks.ts';
import type { FirstTier } from './tiers.ts';

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

/** The number of matches on the input, by guard. Constraints read it as `guards`. */
export type GuardCounts = Readonly<Record<string, number>>;

/** Everything that a decision knows about a request. Facts contain no text of the request. */
export interface Facts {
  readonly operation: Operation;
  /** The model that the request asks for: a selector's name, or the ID of the first model that the request names. */
  readonly model: string;
  /** The alias that the caller sent; null if the caller sent the name itself. */
  readonly alias: string | null;
  /** The IDs of the models that the request names, in the order in which they are tried; null if a selector chooses the model. */
  readonly named: readonly string[] | null;
  /**
   * The models to try next, by reason, which the policy or the request lists; absent if the policy ranks the fallbacks itself. If the
   * request names its model, `named` contains them, too.
   */
  readonly fallbacks?: FallbackLists;
  /** The most likely task; `general` if no task is likely enough, `UNREAD_TASK` if the prompt was not read. */
  readonly task: string;
  /** The possible tasks, the most likely first, with shares that sum to 1; empty if `task` is certain. */
  readonly mix: readonly TaskShare[];
  /** Whether the caller states the task, so that the qualities of the task count; absent for false. */
  readonly isTaskStated?: true;
  /**
   * Whether the request is probably easy, so that every model of the catalog does it well, or very probably hard. A request whose difficulty
   * is in doubt counts as `usual`.
   */
  readonly difficulty: Difficulty;
  /** The signs that the agent is stuck, which makes its request hard; absent if it makes progress, or if the request is not an agent's. */
  readonly stuck?: StuckSigns;
  /** Natural language of the question, ISO 639-1; `und` if it could not be determined. */
  readonly naturalLanguage: string;
  /**
   * Programming languages that the question is about, under canonical names, ascending. The languages that the question is about exclude no
   * model.
   */
  readonly languagesSeen: readonly string[];
  /** Expected input tokens, independent of any model's tokenizer. */
  readonly inputTokens: number;
  /**
   * An upper bound on the input tokens of the request's text under any tokenizer: its bytes, and what dialects add around messages and
   * tools. `inputTokensMax` does not include images.
   */
  readonly inputTokensMax: number;
  readonly images: number;
  /** Bytes of audio input, decoded. Neither `inputTokens` nor `inputTokensMax` includes the tokens of audio input. */
  readonly audioBytes: number;
  /**
   * Number of PDF files. Files sent as a URL or an ID count as PDFs. Neither `inputTokens` nor `inputTokensMax` includes the tokens of PDF
   * files.
   */
  readonly pdfs: number;
  /** Expected pages of the PDFs, based on their bytes. */
  readonly pages: number;
  /** Number of other media (files) whose tokens have no known bound. */
  readonly unboundedMedia: number;
  /** An exact upper bound on the input tokens of the text, by tokenizer; null if no tokenizer had to count. */
  readonly inputTokensCounted: Readonly<Record<string, number>> | null;
  /** The service's own count of the prompt, by model ID; absent if no service had to count. */
  readonly serviceCounts?: Readonly<Record<string, ServiceCount>>;
  /** Visible output tokens of one choice that the caller states, not capped; null if the caller states none. */
  readonly outputTokens: number | null;
  /**
   * Visible output tokens of one choice that the request implies: by words ("in one word", "2,000 words"), by a schema, by the text that is
   * to be translated or shortened, or because it is plainly easy. `outputTokensAsked` is null if the task's figure applies.
   */
  readonly outputTokensAsked: number | null;
  /** The caller's own cap on the output tokens of one choice. */
  readonly outputTokensMax: number | null;
  /** The lowest acceptable cap on the output tokens of one choice; absent if the caller states none. */
  readonly outputTokensMin?: number;
  /**
   * Whether a model whose maximum is below `outputTokensMax` serves the request with its output capped. `capsOutput` is absent if such a
   * model is rejected instead, or if `outputTokensMax` exceeds neither a model's maximum nor the default of a named model.
   */
  readonly capsOutput?: true;
  readonly choices: number;
  /** Bits of `CAPABILITIES` that the request needs. */
  readonly needs: number;
  /** Input tokens of this conversation that a model's provider probably still has in its cache. */
  readonly cached: readonly CachedTokens[];
  /** Programming languages that the model must support, under canonical names. */
  readonly languages: readonly string[];
  /** `route_strategy`, completed with the policy's defaults; null if the caller sends none. `latency` is absent for 0. */
  readonly weights: { readonly cost: number; readonly quality: number; readonly latency?: number } | null;
  readonly ceilings: { readonly costCredits: number | null; readonly latencyMs: number | null };
  /** The caller's `budget_limit`, microcredits. */
  readonly budget: Microcredits | null;
  /** Add-ons to the bill that the request allows; absent for none. */
  readonly addOns?: AskedAddOns;
  /** The money that the policy's budgets and the key's balance leave; null if none applies. */
  readonly funds: FundFacts | null;
  /** The policy's rules that apply to the request. */
  readonly rules: ActiveRules;
  /** IDs of the models that the key and each level above it allow; null for all. */
  readonly allowedModels: readonly string[] | null;
  /**
   * IDs of the models of the policy that the key or a parent key may not use; absent for none. `allowedModels` already lacks them.
   */
  readonly deniedModels?: readonly string[];
  /**
   * The history that a service stores for this conversation. The next turn of such a conversation must go to the service that stores the
   * history. `thread` is absent if no service stores a history.
   */
  readonly thread?: ThreadFacts;
  /** IDs of the models that can read the reasoning of the current tool calls; absent if all can, or if there is none. */
  readonly readers?: readonly string[];
  /** Size of a request of separate texts; absent for conversations. */
  readonly texts?: TextFacts;
  /**
   * The tier of the selector that the conversation begins with (`tierOf` returns the tier of the request); absent if all models are ranked
   * for this request: for a named model, a selector without tiers, the caller's own weights or ceilings, and a stated task.
   */
  readonly tier?: FirstTier;
  /** Why the session is escalated to stronger models; absent if it is not. */
  readonly escalation?: Escalation;
  /** The conversation, by which a score of the answer finds it; absent if its policy needs no conversations, and without a tier. */
  readonly conversation?: ConversationPlace;
  /** The signal that did not escalate the session; absent if there was none. */
  readonly unescalated?: Unescalated;
  /** How many matches each guard found in the request; absent if no guard found one. */
  readonly guards?: GuardCounts;
}

/**
 * The facts that the record of every request has, by position. New facts are added at the end of a list. `pinned` says whether the request
 * names models; a list of several is a rare fact.
 */
export const USUAL_FACTS = allOf<UsualFacts>()([
  'model',
  'pinned',
  'task',
  'inputTokens',
  'inputTokensMax',
  'images',
  'unboundedMedia',
  'outputTokens',
  'outputTokensMax',
  'choices',
  'needs',
  'languages',
  'weights',
  'ceilings',
  'budget',
  'allowedModels',
  'rules',
  'funds',
  'audioBytes',
  'mix',
  'naturalLanguage',
  'languagesSeen',
  'inputTokensCounted',
  'outputTokensAsked',
  'cached',
  'difficulty',
  'operation',
  'alias',
  'pages',
]);

/** Facts that few requests have. These rare facts are stored after the facts that every request has. */
export const RARE_FACTS = [
  'addOns',
  'texts',
  'thread',
  'readers',
  'pdfs',
  'serviceCounts',
  'outputTokensMin',
  'capsOutput',
  'stuck',
  'deniedModels',
  'named',
  'fallbacks',
  'tier',
  'escalation',
  'conversation',
  'unescalated',
  'guards',
  'isTaskStated',
] as const;

/** The facts that every request has, in the form of records. */
export type UsualFacts = Omit<Facts, (typeof RARE_FACTS)[number]> & { readonly pinned: boolean };

/** Accepts a list of all members. If a member is missing, the code does not compile. */
function allOf<Members>() {
  return <const List extends readonly (keyof Members)[]>(
    list: keyof Members extends List[number] ? List : never,
  ): List => list;
}

/** A request's place in its conversation. */
export interface ConversationPlace {
  /** A keyed hash of the key, the caller's names of user and session, and the first messages. */
  readonly id: string;
  /** The number of answers that the request has. */
  readonly answers: number;
}

/** A signal without effect. */
export interface Unescalated extends Escalation {
  /**
   * The sessions of the key in the last hour, and how many of them were escalated, which was too many; null if they could not be counted,
   * and if money was short.
   */
  readonly share: { readonly escalated: number; readonly conversations: number } | null;
  /** Present if the session was not escalated because the funds of the caller cannot pay for it. */
  readonly isUnpaid?: true;
}

/** A score below this is a signal that the answer failed. */
export const LOW_SCORE = 0.5;
/** A request that is sent again within this time after its answer is a signal, minutes. */
export const REPEAT_MINUTES = 5;

/** The signals that an earlier answer of a conversation failed, with what each means. */
export const ESCALATION_SIGNALS = {
  stuck_agent: 'an agent is stuck',
  malformed_call:
    'an answer called an unknown function, or with arguments that are not a JSON object or do not fit its schema',
  broken_schema: 'an answer was not the JSON that its request wants',
  refused_answer: 'an answer was a refusal',
  empty_answer: 'an answer was empty',
  repeated_question: 'the user sent the same question again',
  correction: 'the user said that the answer is wrong',
  low_score: `an answer got a score below ${LOW_SCORE}`,
  repeated_request: `the same request was sent again within ${REPEAT_MINUTES} minutes after its answer`,
} as const;
export type EscalationSignal = keyof typeof ESCALATION_SIGNALS;
export const ESCALATION_NAMES = Object.keys(ESCALATION_SIGNALS) as EscalationSignal[];
/**
 * Signals that operators turn on themselves. Words of complaint are found in one of seven complaints, and half of the sentences that look
 * like complaints are none. Questions and requests are often sent again on purpose.
 */
const OPTIONAL_SIGNALS: readonly EscalationSignal[] = ['correction', 'repeated_question', 'repeated_request'];
/** The signals that count by default. */
export const USUAL_SIGNALS = ESCALATION_NAMES.filter((name) => !OPTIONAL_SIGNALS.includes(name));

/** When conversations move to a better model because an answer failed. */
export interface EscalationTerms {
  /** The signals that count. */
  readonly on: readonly EscalationSignal[];
  /** How many answers without a signal end an escalation. */
  readonly turns: number;
  /** Whether a better model is tried in the same request, if the answer alone shows a signal. */
  readonly secondAttempt: boolean;
  /** The highest share of a key's recent conversations that may be escalated, 0..1; null for no limit. */
  readonly shareMax: number | null;
}

/** The latest signal that escalates a session. */
export interface Escalation {
  readonly signal: EscalationSignal;
  /** The number of answers since the signal; 0 if the latest answer failed or was questioned. */
  readonly turnsAgo: number;
}

/** A service's own count of a prompt's input tokens. */
export interface ServiceCount {
  readonly tokens: number;
  /** The most that the service may bill beyond its count, as its adapter declares. */
  readonly margin: number;
}

/**
 * The signs by which a session of an agent was recognized as stuck, read from its tool calls and their results since the user began the
 * task. All signs are numbers of calls.
 */
export interface StuckSigns {
  /** How often a call failed again as it or another call did before, although the agent tried something else. */
  readonly sameFailures: number;
  /** The failing runs of one command since its last success, or the calls that failed in a row; 0 if there was only one. */
  readonly failingRuns: number;
  /** Edits that restored an earlier text, and commands that did so. */
  readonly undoneEdits: number;
  /** Calls that repeated an earlier call, or ran it after a change, with the same result. */
  readonly repeatedCalls: number;
}

interface ThreadFacts {
  /** ID of the model that continues the thread. */
  readonly model: string;
  /** Indexes of the model's endpoints at the service that stores the thread. */
  readonly endpoints: readonly number[];
  /** Expected tokens of the history. `inputTokens` includes the tokens of the history; the model's context window is their upper bound. */
  readonly tokens: number;
}

export type Difficulty = (typeof DIFFICULTIES)[number];
export const DIFFICULTIES = ['easy', 'usual', 'hard'] as const;

export interface TaskShare {
  readonly task: string;
  /** The probability of the task, above 0, at most 1. */
  readonly share: number;
}

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
