import { allPrices, momentOf, type PricePlan, pricesWithin } from '../../core/money/price-plan.ts';
import type { SnapshotPrices } from '../../core/policy/build.ts';
import type { DraftReader } from '../define/section.ts';
import { MODELS } from '../models/catalog.ts';
import type { EndpointDraft, ModelDraft } from '../models/models.ts';
import type { PublicFigures } from '../models/wildcard-names.ts';
import { servable, treeOf } from '../models/wildcards.ts';
import { PAYMENTS } from '../payments/payments.ts';
import { Report } from '../report/report.ts';
import { readStated } from '../schema/prices.ts';
import { CREDITS } from '../sections/credits.ts';

/** How late a server may build its policy again after a change of prices without a hold that is too small, ms. */
const LATE_MS = 120_000;

/** The inputs of a moment other than the policy: the table of public facts, and the names of the providers that are set up. */
interface MomentContext {
  readonly facts: PublicFigures | null;
  readonly serving: ReadonlyMap<string, unknown>;
}

/** Whose prices a build has. */
export interface PricedAt {
  /** Ms since 1970. */
  readonly at: number;
  /** Hashes the text of `PriceMoment`. */
  hashOf(text: string): string;
}

/** The moment for which a policy is built, and how long a request can last that begins then. */
export interface BuildMoment {
  readonly prices: SnapshotPrices;
  readonly horizonMs: number;
}

/** Returns the moment for which a policy is built; null if no price of a provider that is set up changes with time. */
export function buildMoment(of: DraftReader, { at, hashOf }: PricedAt, context: MomentContext): BuildMoment | null {
  const plans = plansIn(of, context);
  if (plans.length === 0) return null;
  const horizonMs = horizonOf(of);
  const { text, until } = momentOf(plans, at, horizonMs);
  return { prices: { at, until, hash: hashOf(text) }, horizonMs };
}

const catalogIn = (of: DraftReader) => {
  const { drafts: models, wildcards } = of(MODELS);
  return { models, wildcards };
};

/** Returns how long a request can last, from its quote or its admission to the end of its answer, ms. */
function horizonOf(of: DraftReader): number {
  const deadlines = servable(catalogIn(of)).map(({ model }) => model.deadlines.totalMs);
  return Math.max(0, ...deadlines) + (of(PAYMENTS)?.quoteTtlMs ?? 0) + LATE_MS;
}

function plansIn(of: DraftReader, { facts, serving }: MomentContext): readonly PricePlan[] {
  const catalog = catalogIn(of);
  const endpoints = servable(catalog).flatMap((draft) => draft.endpoints.map(({ endpoint }) => endpoint));
  const stated = endpoints.flatMap(({ provider, plan }) => (plan && serving.has(provider) ? [plan] : []));
  const wildcards = catalog.wildcards.filter(({ provider }) => serving.has(provider));
  const services = new Set(wildcards.flatMap(({ service }) => service ?? []));
  if (!facts) return stated;
  const { usdPerCredit } = of(CREDITS);
  const place = { file: '', line: 1, column: 1, length: 1 };
  const published = [...services].flatMap((service) =>
    facts.changing(service).flatMap((price) => {
      const read = readStated(treeOf(price, place), price, usdPerCredit, new Report());
      return read?.plan ?? [];
    }),
  );
  return [...stated, ...published];
}

/** Returns drafts with the prices of a moment; the same drafts for no moment. */
export function atMoment(drafts: readonly ModelDraft[], moment: BuildMoment | null): readonly ModelDraft[] {
  if (moment === null || drafts.every(({ endpoints }) => endpoints.every(({ endpoint }) => !endpoint.plan)))
    return drafts;
  return drafts.map((draft) => ({ ...draft, endpoints: draft.endpoints.map((one) => endpointAt(one, moment)) }));
}

function endpointAt(draft: EndpointDraft, { prices: { at }, horizonMs }: BuildMoment): EndpointDraft {
  const { plan } = draft.endpoint;
  if (plan === undefined) return draft;
  const [price, ...nextPrices] = pricesWithin(plan, at, at + horizonMs);
  const usd = draft.planUsd?.[allPrices(plan).indexOf(price)] ?? draft.usd;
  return { ...draft, usd, endpoint: { ...draft.endpoint, price, ...(nextPrices.length > 0 && { nextPrices }) } };
}
