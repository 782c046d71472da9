import { isKnownLanguage } from './languages.ts';
import { bothBits, emptyBits, hasBit, setBit } from './rules.ts';

/** The models' support of one programming language. */
export interface LanguageSupport {
  /** Bits by index of the model: those that may serve a request which requires the language. */
  readonly qualifies: Uint32Array;
  /** By index of the model: 1 where it is declared, 0.5 where neither is declared, 0 where the model lacks it. */
  readonly known: Float64Array;
}

export type LanguageState = 'declared' | 'unknown' | 'lacked';

/** A model's programming languages, by canonical name. */
interface LanguageLists {
  readonly languages: ReadonlySet<string>;
  readonly lacksLanguages: ReadonlySet<string>;
}

/** The support of programming languages by the models that can be served. */
export interface Languages {
  /** Every language that a model declares or lacks. */
  readonly byName: ReadonlyMap<string, LanguageSupport>;
  /** Whether a language that no model declares is unknown for all models, and so excludes none; else it excludes all. */
  readonly admitUnstated: boolean;
}

/** How much of a language's worth each state is. */
export const KNOWN: Readonly<Record<LanguageState, number>> = { declared: 1, unknown: 0.5, lacked: 0 };

/** Returns a model's support of a language, by its canonical name. */
export function languageState({ languages, lacksLanguages }: LanguageLists, name: string): LanguageState {
  if (languages.has(name)) return 'declared';
  return lacksLanguages.has(name) ? 'lacked' : 'unknown';
}

/**
 * Builds the support of every language that some model declares or lacks. If any model declares a language, only the models
 * that declare it qualify. If none does, `admitUnstated` lets all models qualify that do not lack it; otherwise none qualifies.
 */
export function languageSupport(models: readonly LanguageLists[], admitUnstated: boolean): Languages {
  const names = new Set(models.flatMap(({ languages, lacksLanguages }) => [...languages, ...lacksLanguages]));
  const byName = new Map(Array.from(names, (name) => [name, supportOf(name, models, admitUnstated)] as const));
  return { byName, admitUnstated };
}

function supportOf(name: string, models: readonly LanguageLists[], admitUnstated: boolean): LanguageSupport {
  const states = models.map((model) => languageState(model, name));
  const isUnstated = admitUnstated && !states.includes('declared');
  const wanted = (state: LanguageState) => (isUnstated ? state !== 'lacked' : state === 'declared');
  const qualifies = emptyBits(models.length);
  for (const [at, state] of states.entries()) if (wanted(state)) setBit(qualifies, at);
  return { qualifies, known: Float64Array.from(states, (state) => KNOWN[state]) };
}

/** Whether a model, by its index, may serve a request that requires the language. A name that is not a language leaves no model. */
export function qualifiesFor(name: string, model: number, { byName, admitUnstated }: Languages): boolean {
  const support = byName.get(name);
  return support ? hasBit(support.qualifies, model) : admitUnstated && isKnownLanguage(name);
}

/** The models that may serve a request which requires all of these, as bits; null for all. */
export function qualifiedFor(
  names: readonly string[],
  { byName, admitUnstated }: Languages,
  models: number,
): Uint32Array | null {
  let bits: Uint32Array | null = null;
  for (let i = 0; i < names.length; i++) {
    const support = byName.get(names[i]!);
    if (support) bits = bothBits(bits, support.qualifies);
    else if (!admitUnstated || !isKnownLanguage(names[i]!)) return emptyBits(models);
  }
  return bits;
}

/** Adds a language's worth to each model's quality, by index: all of it, half, or none. */
export function addWorth(to: Float64Array, name: string, worth: number, { byName }: Languages): void {
  const known = byName.get(name)?.known;
  for (let i = 0; i < to.length; i++) to[i]! += worth * (known?.[i] ?? KNOWN.unknown);
}
