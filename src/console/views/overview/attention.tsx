import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ReadOf } from '../../api/reads.ts';
import type { Resource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Card } from '../../design/card.tsx';
import { DAY_MS, duration } from '../../design/format.ts';
import { State, type Tone } from '../../design/tag.tsx';
import { Coded, When } from '../../design/written.tsx';
import { periodBefore } from '../../shell/compared.ts';
import { type DegradedProvider, degradedText, type SlowProvider, timesSlower } from '../../shell/providers.ts';
import { hrefOf } from '../../shell/router.ts';
import { isSick } from '../fleet/endpoint-words.tsx';
import { emptyAt, type FundUsage, fundHref, fundKey, fundSubject, isRefusing, tooSmallText } from './budgets.tsx';
import { sickText } from './sick-text.ts';

interface AttentionItem {
  readonly id: string;
  readonly tone: Tone;
  readonly word: string;
  readonly text: ComponentChildren;
  /** The page where the viewer can fix the problem. */
  readonly href: string;
}

interface AttentionSources {
  readonly ledger: Resource<ReadOf<'/admin/ledger'>>;
  readonly endpoints: Resource<ReadOf<'/admin/endpoints'>>;
  readonly policy: Resource<ReadOf<'/admin/policy'>>;
  readonly alerts: Resource<ReadOf<'/admin/alerts'>>;
  readonly status: Resource<ReadOf<'/admin/status'>>;
  readonly slow: readonly SlowProvider[];
  readonly degraded: readonly DegradedProvider[];
}

const ITEMS_SHOWN = 6;
const RANK: Readonly<Record<Tone, number>> = { bad: 0, warn: 1, quiet: 2, good: 3 };

/** Lists what the viewer should look at, the most urgent first. If no problem needs attention, the list is a single quiet line. */
export function Attention(sources: AttentionSources) {
  const [isAll, setAll] = useState(false);
  const { ledger, endpoints, policy, alerts, status } = sources;
  const read = Object.entries({ budgets: ledger, endpoints, policy, alerts, server: status });
  const isKnown = read.every(([, { data, failure }]) => data !== null || failure !== null);
  if (read.every(([, { data }]) => data === null)) return null;
  const unread = read.flatMap(([name, { data, failure }]) => (data === null && failure ? [name] : [])).join(', ');
  const note = unread && `These could not be read, and may need attention: ${unread}.`;
  const items = itemsOf(sources, Date.now()).toSorted((one, other) => RANK[one.tone] - RANK[other.tone]);
  if (items.length === 0) {
    return <p class="overview-calm dim">{isKnown ? note || 'Nothing needs attention.' : ' '}</p>;
  }
  const more = isAll ? 0 : items.length - ITEMS_SHOWN;
  return (
    <Card
      id="attention"
      heading={items.length === 1 ? 'One thing needs attention.' : `${items.length} things need attention.`}
    >
      <ul class="overview-items stack-tight">
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
      {note && <p class="table-foot">{note}</p>}
    </Card>
  );
}

const itemsOf = (
  { ledger, endpoints, policy, alerts, status, slow, degraded }: AttentionSources,
  now: number,
): readonly AttentionItem[] => [
  ...(ledger.data?.funds ?? []).flatMap((fund) => fundItem(fund, now)),
  ...(status.data?.failing_guards ?? []).map(guardItem),
  ...sickText((endpoints.data?.data ?? []).filter(isSick)).map(
    (item): AttentionItem => ({ ...item, word: 'Provider', href: hrefOf('/fleet') }),
  ),
  ...degraded.map(
    (provider): AttentionItem => ({
      id: `degraded ${provider.name}`,
      tone: 'warn',
      word: 'Provider',
      href: hrefOf('/fleet'),
      text: `Provider ${provider.name} is degraded: ${degradedText(provider)}`,
    }),
  ),
  ...slow.map(
    (provider): AttentionItem => ({
      id: `slow ${provider.name}`,
      tone: 'warn',
      word: 'Provider',
      // For example: `5 times as long as in the 24 hours before`.
      text: `Provider ${provider.name} is slow: ${duration(provider.ttftMs).short} to the first token, ${timesSlower(provider)} times as long as in the ${periodBefore()}`,
      href: hrefOf('/', { by: 'provider', measure: 'ttft' }),
    }),
  ),
  ...(policy.data ? policyItems(policy.data) : []),
  ...(alerts.data ? alertItems(alerts.data, now) : []),
];

function fundItem(fund: FundUsage, now: number): readonly AttentionItem[] {
  const at = emptyAt(fund, now);
  if (at === null) return [];
  const href = fundHref(fund) ?? hrefOf('/money', { tab: 'budgets' });
  const isSpent = at <= now;
  const tooSmall = tooSmallText(fund);
  const text = isSpent ? (
    <>
      {fundSubject(fund)}{' '}
      {tooSmall ?? (isRefusing(fund) ? 'has too little left for requests, and refuses them' : 'has no Credits left')}
      {tooSmall === null && fund.renews_at !== null && (
        <>
          ; it renews <When at={fund.renews_at} />
        </>
      )}
    </>
  ) : (
    <>
      {fundSubject(fund)} will be empty <When at={new Date(at).toISOString()} /> if spending continues at this rate
    </>
  );
  const tone = isSpent ? 'bad' : 'warn';
  const word = isSpent && !isRefusing(fund) && tooSmall === null ? 'Spent' : 'Budget';
  return [{ id: `fund ${fundKey(fund)}`, tone, word, text, href }];
}

/** A guard whose service is down can refuse every request. */
const guardItem = ({ name, error }: ReadOf<'/admin/status'>['failing_guards'][number]): AttentionItem => ({
  id: `guard ${name}`,
  tone: 'bad',
  word: 'Guard',
  href: hrefOf(`/requests/guards/${encodeURIComponent(name)}`),
  text: `Guard ${name} fails at every request${error === null ? '' : `: ${error}`}`,
});

function policyItems({ last_reload, warnings }: ReadOf<'/admin/policy'>): readonly AttentionItem[] {
  const [first] = warnings;
  const item = { word: 'Policy', href: hrefOf('/policies') };
  const refused = <Coded text={`The last policy edit was refused: ${last_reload.message}`} />;
  const warned =
    warnings.length === 1 ? (
      <Coded text={`The policy has a warning: ${first?.message}`} />
    ) : (
      `The policy has ${warnings.length} warnings`
    );
  return [
    ...(last_reload.result === 'refused' ? [{ ...item, id: 'reload', tone: 'bad' as const, text: refused }] : []),
    ...(first ? [{ ...item, id: 'warnings', tone: 'warn' as const, text: warned }] : []),
  ];
}

function alertItems({ data, webhooks }: ReadOf<'/admin/alerts'>, now: number): readonly AttentionItem[] {
  const failing = webhooks.filter(({ state }) => state === 'failing');
  const latest = data.find(({ type, time }) => type === 'alert' && now - Date.parse(time) < DAY_MS);
  const href = hrefOf('/fleet');
  const item = latest && {
    id: latest.id,
    tone: 'warn' as const,
    word: 'Alert',
    href,
    text: (
      <>
        <Coded text={latest.text} /> <When at={latest.time} />
      </>
    ),
  };
  return [
    ...failing.map(
      ({ name, problem }): AttentionItem => ({
        id: `webhook ${name}`,
        tone: 'bad',
        word: 'Webhook',
        href,
        text: <Coded text={`Alerts do not reach ${name}${problem === null ? '' : `: ${problem}`}`} />,
      }),
    ),
    ...(item ? [item] : []),
  ];
}
