import type { TSchema } from '@sinclair/typebox';
import { CASES } from './cases/cases.ts';
import type { CompiledSection } from './define/section.ts';
import { GUARDS } from './guards/guards.ts';
import { BASELINE } from './models/baseline.ts';
import { MODELS } from './models/catalog.ts';
import { PRICES } from './models/contracts.ts';
import { PAYMENTS } from './payments/payments.ts';
import { ORGANIZATION, TEAMS } from './people/people.ts';
import { PLUGINS } from './providers/plugins.ts';
import { PROVIDERS } from './providers/providers.ts';
import { CONSTRAINTS } from './rules/constraints.ts';
import { PREFERENCES } from './rules/preferences.ts';
import { ALERTS } from './sections/alerts.ts';
import { BUDGETS } from './sections/budgets.ts';
import { CACHE } from './sections/cache.ts';
import { CONSOLE } from './sections/console.ts';
import { CREDITS } from './sections/credits.ts';
import { ESCALATE } from './sections/escalate.ts';
import { GATEWAY } from './sections/gateway.ts';
import { METRICS } from './sections/metrics.ts';
import { PUBLIC_URL } from './sections/public-url.ts';
import { RATE_LIMITS } from './sections/rate-limits.ts';
import { RECORDS } from './sections/records.ts';
import { DEFAULT_WEIGHTS, LEDGER } from './sections/settings.ts';
import { SIGN_IN } from './sections/sign-in.ts';
import { TASKS } from './sections/tasks.ts';
import { TOKENS } from './sections/tokens.ts';
import { TRAFFIC } from './sections/traffic.ts';
import {
  ALIAS_PATTERNS,
  DEFAULT_ALIASES,
  STRONG_FROM,
  UNSTATED_LANGUAGES,
  UNSTATED_LATENCY,
  UNSTATED_QUALITY,
  VERSION,
} from './sections/values.ts';
import { SELECTORS } from './selectors/selectors.ts';

/** Every section of the language, in the order in which messages and the reference list them. */
export const LANGUAGE = [
  VERSION,
  CREDITS,
  GATEWAY,
  RECORDS,
  PROVIDERS,
  MODELS,
  PRICES,
  TASKS,
  SELECTORS,
  TRAFFIC,
  STRONG_FROM,
  ESCALATE,
  DEFAULT_WEIGHTS,
  UNSTATED_QUALITY,
  UNSTATED_LATENCY,
  UNSTATED_LANGUAGES,
  ALIAS_PATTERNS,
  DEFAULT_ALIASES,
  CONSTRAINTS,
  PREFERENCES,
  GUARDS,
  CACHE,
  BUDGETS,
  RATE_LIMITS,
  ALERTS,
  LEDGER,
  ORGANIZATION,
  PAYMENTS,
  TOKENS,
  PLUGINS,
  TEAMS,
  CASES,
  METRICS,
  PUBLIC_URL,
  CONSOLE,
  SIGN_IN,
  BASELINE,
] as const;

type Language = (typeof LANGUAGE)[number];
export type SectionName = Language['name'];

/** The schemas of all sections by name. */
type Schemas = { readonly [One in Language as One['name']]: One['text'] };
/** The drafts of all sections by name. */
export type Drafts = { readonly [One in Language as One['name']]: ReturnType<One['draft']> };
type ResultOf<One> = One extends CompiledSection<string, TSchema, infer _, infer Made> ? Made : never;
/** The results of the sections that have one, by name. */
export type Results = {
  readonly [One in Language as One extends CompiledSection ? One['name'] : never]: ResultOf<One>;
};

/** The schema of every section. */
export const SECTIONS = Object.fromEntries(LANGUAGE.map(({ name, text }) => [name, text])) as Schemas;
