import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ReadOf } from '../../api/reads.ts';
import type { Resource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { duration } from '../../design/format.ts';
import { State, type Tone } from '../../design/tag.tsx';
import { Coded, When } from '../../design/written.tsx';
import { type DegradedProvider, degradedText } from '../../shell/degraded.ts';
import { range } from '../../shell/range.ts';
import { hrefOf } from '../../shell/router.ts';
import { type SlowProvider, timesSlower } from '../../shell/slow.ts';
import { emptyAt, fundHref, fundKey, fundName } from './budgets.tsx';
import { isSick } from './providers.tsx';

interface AttentionItem {
  readonly id: string;
  readonly tone: Tone;
  readonly word: string;
  readonly text: ComponentChildren;
  /** Where somebody mends it. */
  readonly href: string;
}

interface AttentionSources {
  readonly ledger: Resource<ReadOf<'/admin/ledger'>>;
  readonly endpoints: Resource<ReadOf<'/admin/endpoints'>>;
  readonly policy: Resource<ReadOf<'/admin/policy'>>;
  readonly alerts: Resource<ReadOf<'/admin/alerts'>>;
  readonly slow: readonly SlowProvider[];
  readonly degraded: readonly DegradedProvider[];
}

const ITEMS_SHOWN = 6;
const DAY_MS = 86_400_000;

/** What somebody has to look at, the worst first. It is one quiet line where there is nothing. */
export function Attention(sources: AttentionSources) {
  const [isAll, setAll] = useState(false);
  const { ledger, endpoints, policy, alerts } = sources;
  const isKnown = [ledger, endpoints, policy, alerts].every(({ data, failure }) => data !== null || failure !== null);
  const seen = [ledger, endpoints, policy, alerts].some(({ data }) => data !== null);
  if (!seen) return null;
  const items = itemsOf(sources, Date.now()).toSorted((one, other) => RANK[one.tone] - RANK[other.tone]);
  const unread = unreadText(sources);
  if (items.length === 0) {
    return <p class="overview-calm dim">{isKnown ? unread || 'Nothing needs attention.' : ' '}</p>;
  }
  const more = isAll ? 0 : items.length - ITEMS_SHOWN;
  return (
    <section class="card" aria-labelledby="attention">
      <div class="card-head">
        <h2 id="attention">
          {items.length === 1 ? 'One thing needs attention.' : `${items.length} things need attention.`}
        </h2>
      </div>
      <ul class="overview-items">
        {items.slice(0, isAll ? items.length : ITEMS_SHOWN).map(({ id, tone, word, text, href }) => (
          <li key={id}>
            <span class="overview-word">
              <State tone={tone}>{word}</State>
            </span>
            <a href={href}>{text}</a>
          </li>
        ))}
        {more > 0 && (
          <li>
            <Button kind="plain" onClick={() => setAll(true)}>
              {more} more
            </Button>
          </li>
        )}
      </ul>
      {unread !== '' && <p class="table-foot">{unread}</p>}
    </section>
  );
}

/** Says what could not be looked at; empty where all was. */
function unreadText({ ledger, endpoints, policy, alerts }: AttentionSources): string {
  const looked = { Budgets: ledger, Endpoints: endpoints, Policy: policy, Alerts: alerts };
  const names = Object.entries(looked).flatMap(([name, { data, failure }]) => (data === null && failure ? [name] : []));
  return names.length === 0 ? '' : `Could not be read, and may need attention: ${names.join(', ').toLowerCase()}.`;
}

const RANK: Readonly<Record<Tone, number>> = { bad: 0, warn: 1, quiet: 2, good: 3 };

function itemsOf(
  { ledger, endpoints, policy, alerts, slow, degraded }: AttentionSources,
  now: number,
): readonly AttentionItem[] {
  return [
    ...(ledger.data?.funds ?? []).flatMap((fund) => fundItem(fund, now)),
    ...(endpoints.data?.data ?? []).filter(isSick).map(endpointItem),
    ...degraded.map(degradedItem),
    ...slow.map(slowItem),
    ...(policy.data ? policyItems(policy.data) : []),
    ...(alerts.data ? alertItems(alerts.data, now) : []),
  ];
}

function fundItem(fund: ReadOf<'/admin/ledger'>['funds'][number], now: number): readonly AttentionItem[] {
  const at = emptyAt(fund, now);
  const item = { id: `fund ${fundKey(fund)}`, href: fundHref(fund) ?? hrefOf('/money', { tab: 'budgets' }) };
  const noun = fund.kind === 'balance' ? 'Balance' : 'Budget';
  if (at === null) return [];
  if (at <= now) {
    const text = (
      <>
        {noun} {fundName(fund)} has no Credits left
        {fund.renews_at !== null && (
          <>
            ; it renews <When at={fund.renews_at} />
          </>
        )}
      </>
    );
    return [{ ...item, tone: 'bad', word: 'Spent', text }];
  }
  return [
    {
      ...item,
      tone: 'warn',
      word: 'Budget',
      text: (
        <>
          Budget {fundName(fund)} runs out <When at={new Date(at).toISOString()} /> at the rate so far
        </>
      ),
    },
  ];
}

const endpointItem = (endpoint: ReadOf<'/admin/endpoints'>['data'][number]): AttentionItem => ({
  id: `endpoint ${endpoint.provider} ${endpoint.upstream}`,
  tone: endpoint.state === 'cooling' ? 'warn' : 'bad',
  word: 'Provider',
  text: `${endpoint.provider}, ${endpoint.upstream}: ${WORDS[endpoint.state] ?? endpoint.state}`,
  href: hrefOf('/fleet'),
});

const degradedItem = (provider: DegradedProvider): AttentionItem => ({
  id: `degraded ${provider.name}`,
  tone: 'warn',
  word: 'Provider',
  text: `Provider ${provider.name} is degraded: ${degradedText(provider)}`,
  href: hrefOf('/fleet'),
});

/** `5 times the 24 hours before`. */
function slownessText(provider: SlowProvider): string {
  const { label } = range.value;
  const period = label.startsWith('Last ') ? label.slice('Last '.length) : 'period';
  return `${timesSlower(provider)} times that of the ${period} before`;
}

const slowItem = (provider: SlowProvider): AttentionItem => ({
  id: `slow ${provider.name}`,
  tone: 'warn',
  word: 'Provider',
  text: `Provider ${provider.name} is slow: ${duration(provider.ttftMs).short} to the first token, ${slownessText(provider)}`,
  href: hrefOf('/', { by: 'provider', measure: 'ttft' }),
});

const WORDS: Readonly<Record<string, string>> = {
  ejected: 'its breaker is open after failures',
  cooling: 'cooling after a 429',
  misconfigured: 'the provider refuses the key',
  out_of_credit: 'the provider account has no credit left',
};

function policyItems({ last_reload, warnings }: ReadOf<'/admin/policy'>): readonly AttentionItem[] {
  const items: AttentionItem[] = [];
  const href = hrefOf('/policies');
  if (last_reload.result === 'refused') {
    items.push({
      id: 'reload',
      tone: 'bad',
      word: 'Policy',
      text: `The last edit was refused: ${last_reload.message}`,
      href,
    });
  }
  if (warnings.length > 0) {
    const text =
      warnings.length === 1
        ? `The policy has a warning: ${warnings[0]?.message}`
        : `The policy has ${warnings.length} warnings`;
    items.push({ id: 'warnings', tone: 'warn', word: 'Policy', text, href });
  }
  return items;
}

function alertItems({ data, webhooks }: ReadOf<'/admin/alerts'>, now: number): readonly AttentionItem[] {
  const failing = webhooks.filter(({ state }) => state === 'failing');
  const latest = data.find(({ type, time }) => type === 'alert' && now - Date.parse(time) < DAY_MS);
  return [
    ...failing.map(
      ({ name, problem }): AttentionItem => ({
        id: `webhook ${name}`,
        tone: 'bad',
        word: 'Webhook',
        text: <Coded text={`Alerts do not reach ${name}${problem === null ? '' : `: ${problem}`}`} />,
        href: hrefOf('/fleet'),
      }),
    ),
    ...(latest
      ? [
          {
            id: latest.id,
            tone: 'warn',
            word: 'Alert',
            text: (
              <>
                {latest.text} <When at={latest.time} />
              </>
            ),
            href: hrefOf('/fleet'),
          } as const,
        ]
      : []),
  ];
}
