import { isKnownLanguage } from '../request/languages.ts';
import { bothBits, emptyBits, hasBit, setBit } from './rules.ts';

/** Which models support one programming language. */
export interface LanguageSupport {
  /** Bits by index of the model: set if the model may serve a request that requires the language. */
  readonly qualifies: Uint32Array;
  /** Whether a model declares the language. */
  readonly isDeclared: boolean;
}

export type LanguageState = 'declared' | 'unknown' | 'lacked';

/** A model's programming languages, under canonical names. */
interface LanguageLists {
  readonly languages: ReadonlySet<string>;
  readonly lacksLanguages: ReadonlySet<string>;
}

/** Which models support which programming languages. */
export interface Languages {
  /** Every language that a model declares or lacks. */
  readonly byName: ReadonlyMap<string, LanguageSupport>;
  /**
   * Whether a language that no model declares excludes no model. If `admitUnstated` is false, a language that no model declares excludes
   * all models.
   */
  readonly admitUnstated: boolean;
}

/** Returns whether a model supports a language, by its canonical name. */
export function languageState({ languages, lacksLanguages }: LanguageLists, name: string): LanguageState {
  if (languages.has(name)) return 'declared';
  return lacksLanguages.has(name) ? 'lacked' : 'unknown';
}

/**
 * Builds the support of every language that a model declares or lacks. If any model declares a language, only models that declare it
 * qualify. If none declares it, `admitUnstated` decides: true admits all models that do not lack it, false admits none.
 */
export function languageSupport(models: readonly LanguageLists[], admitUnstated: boolean): Languages {
  const names = new Set(models.flatMap(({ languages, lacksLanguages }) => [...languages, ...lacksLanguages]));
  const byName = new Map(Array.from(names, (name) => [name, supportOf(name, models, admitUnstated)] as const));
  return { byName, admitUnstated };
}

function supportOf(name: string, models: readonly LanguageLists[], admitUnstated: boolean): LanguageSupport {
  const states = models.map((model) => languageState(model, name));
  const isDeclared = states.includes('declared');
  const isUnstated = admitUnstated && !isDeclared;
  const wanted = (state: LanguageState) => (isUnstated ? state !== 'lacked' : state === 'declared');
  const qualifies = emptyBits(models.length);
  for (const [at, state] of states.entries()) if (wanted(state)) setBit(qualifies, at);
  return { qualifies, isDeclared };
}

/**
 * Whether a model (by index) may serve a request that requires the language. If the name is not a known language, no model may serve the
 * request.
 */
export function qualifiesFor(name: string, model: number, { byName, admitUnstated }: Languages): boolean {
  const support = byName.get(name);
  return support ? hasBit(support.qualifies, model) : admitUnstated && isKnownLanguage(name);
}

/** Returns the models that may serve a request which requires all of these languages, as bits; null for all models. */
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
