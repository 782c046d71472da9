import type { AskedAddOns } from './add-ons.ts';
import type { Microcredits } from './credits.ts';
import type { EmbeddingFacts } from './embedding.ts';
import type { Operation } from './operation.ts';
import type { ActiveRules } from './rules.ts';

/** The `task` of a request whose intent nothing depends on. It counts as `general`. */
export const UNREAD_TASK = 'unread';

/** Whether the task, difficulty and languages of a request were read. */
export const isIntentRead = ({ task }: Pick<Facts, 'task'>): boolean => task !== UNREAD_TASK;

/** All that a decision knows about a request. Holds no text of it. */
export interface Facts {
  readonly operation: Operation;
  /** The target of the request's `model`: a selector's name or, when `pinned`, a model's ID. */
  readonly model: string;
  /** The alias that the caller sent for it; null for its own name. */
  readonly alias: string | null;
  readonly pinned: boolean;
  /** The likeliest task; `general` where none is likelier than not, `UNREAD_TASK` where none was read. */
  readonly task: string;
  /** The tasks that it may be, the likeliest first, with shares that sum to 1; empty where `task` is certain. */
  readonly mix: readonly TaskShare[];
  /** Whether it is plainly easy: what every model of a catalog does well. In doubt it is `usual`. */
  readonly difficulty: Difficulty;
  /** How many times as much quality weighs for being hard, 1 or more; absent where the policy states no factor. */
  readonly qualityFactor?: number;
  /** Natural language of the question, ISO 639-1; `und` where it is undetermined. */
  readonly naturalLanguage: string;
  /** Programming languages that the question is about, in canonical names, ascending. They exclude no model. */
  readonly languagesSeen: readonly string[];
  /** Expected input tokens, by a neutral count. */
  readonly inputTokens: number;
  /**
   * Input tokens that the request's text cannot exceed under any tokenizer: its bytes, and what dialects wrap around
   * messages and tools. Images are not in it.
   */
  readonly inputTokensMax: number;
  readonly images: number;
  /** Bytes of audio input, decoded. Its tokens are in neither of the figures above. */
  readonly audioBytes: number;
  /** PDF files, and files by an address or an ID, which count as such. Their tokens are in none of the figures above. */
  readonly pdfs: number;
  /** Pages expected of them, by their bytes. */
  readonly pages: number;
  /** Other media (files), for which no bound is known. */
  readonly unboundedMedia: number;
  /** Input tokens that the text cannot exceed, by the tokenizer that counted it; null where none had to. */
  readonly inputTokensCounted: Readonly<Record<string, number>> | null;
  /** By model ID, the prompt as its service counted it; absent where none had to. */
  readonly serviceCounts?: Readonly<Record<string, ServiceCount>>;
  /** Visible output tokens of one choice that the caller expects, not capped; null where none are stated. */
  readonly outputTokens: number | null;
  /**
   * The same, as the request lets expect it: by words ("in one word", "2,000 words"), a schema, the text that is to be
   * rendered or cut short, or since it is plainly easy; null where the task's figure stands.
   */
  readonly outputTokensAsked: number | null;
  /** The caller's own cap on output tokens of one choice. */
  readonly outputTokensMax: number | null;
  /** The least output tokens of one choice that the cap may be lowered to; absent where the caller states none. */
  readonly outputTokensMin?: number;
  /**
   * Whether a model whose maximum is below `outputTokensMax` serves the request with its output capped there. Absent where it
   * is rejected, where `outputTokensMax` is above no model's maximum, nor above the default of a named model, and in records of
   * earlier versions.
   */
  readonly capsOutput?: true;
  readonly choices: number;
  /** Bits of `CAPABILITIES`. */
  readonly needs: number;
  /** Input tokens of this conversation that a model's provider is likely to have in its cache still. */
  readonly cached: readonly CachedTokens[];
  /** Programming languages that the model must handle, in canonical names. */
  readonly languages: readonly string[];
  /** `route_strategy`, completed with the policy's defaults; null without one. `latency` is absent for 0. */
  readonly weights: { readonly cost: number; readonly quality: number; readonly latency?: number } | null;
  readonly ceilings: { readonly costCredits: number | null; readonly latencyMs: number | null };
  /** `budget_limit`. */
  readonly budget: Microcredits | null;
  /** The bill beside tokens that it allows; absent for nothing. */
  readonly addOns?: AskedAddOns;
  /** The amount that the policy's budgets and the key's balance leave; null where none applies. */
  readonly funds: FundFacts | null;
  /** The policy's rules that apply to the request. */
  readonly rules: ActiveRules;
  /** The models that are in the key's list and in that of each level above it. */
  readonly allowedModels: readonly string[] | null;
  /** The history that a service keeps of the conversation: its next turn goes there. Absent for none. */
  readonly thread?: ThreadFacts;
  /** IDs of the models that can read the thoughts of the tool calls under way; absent where all can, or none. */
  readonly readers?: readonly string[];
  /** Absent for other operations than `embed`. */
  readonly embedding?: EmbeddingFacts;
}

/** The input tokens of a prompt by the count of a service. */
export interface ServiceCount {
  readonly tokens: number;
  /** The most that the service may bill beyond its count, as its adapter declares. */
  readonly margin: number;
}

interface ThreadFacts {
  /** ID of the model that goes on with it. */
  readonly model: string;
  /** The model's endpoints at the service that has it, by index. */
  readonly endpoints: readonly number[];
  /** Expected tokens of the history. They are in `inputTokens` too; the model's window is their bound. */
  readonly tokens: number;
}

export type Difficulty = (typeof DIFFICULTIES)[number];
export const DIFFICULTIES = ['easy', 'usual', 'hard'] as const;

export interface TaskShare {
  readonly task: string;
  /** Above 0, at most 1. */
  readonly share: number;
}

export interface CachedTokens {
  /** ID of the model. */
  readonly model: string;
  readonly tokens: number;
}

/** Funds bind hard: whatever cannot be bounded may not draw on one. */
export interface FundFacts {
  /** The most that a request may cost at its worst for a fund that downgrades to pay it; null without such a fund. */
  readonly free: Microcredits | null;
  /** The fund that caps outputs; absent without one, and in records of version 0.1. */
  readonly cap?: FundCap;
}

/** The fund with the least money of those that cap outputs. */
export interface FundCap {
  /** The name of a budget; `balance` for a balance. */
  readonly by: string;
  /** Microcredits that it has left once all open holds are released: no output that costs more is asked for. */
  readonly unspent: Microcredits;
}
