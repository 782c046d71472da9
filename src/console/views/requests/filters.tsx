import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiFailure } from '../../api/failure.ts';
import type { ReadOf } from '../../api/reads.ts';
import { Button } from '../../design/button.tsx';
import { useDraft } from '../../design/draft.ts';
import { Field, Filters, Select } from '../../design/field.tsx';
import { go, hrefWith, param, setParams } from '../../shell/router.ts';
import { mayGroup, reachOfViewer } from '../../shell/session.ts';
import { useTraffic } from '../../shell/traffic.ts';
import { STATUSES } from './list.tsx';

/** The filters of the list. The page's address and the API use the same parameter names. */
export const FILTERS = [
  'key',
  'team',
  'model',
  'task',
  'status',
  'code',
  'label',
  'session',
  'guard',
  'finding',
  'left_out',
  'instead_of',
] as const;
type Filter = (typeof FILTERS)[number];

const NONE = Object.fromEntries(FILTERS.map((name) => [name, null]));
const STATUS_OPTIONS = [
  ...Object.entries(STATUSES).map(([value, [, label]]) => ({ value, label })),
  ...['400', '401', '402', '403', '404', '422', '429', '500', '502', '503'].map((value) => ({
    value,
    label: `HTTP ${value}`,
  })),
];
const FINDING_OPTIONS = [
  { value: 'block', label: 'Blocked' },
  { value: 'mask', label: 'Masked' },
  { value: 'flag', label: 'Only counted' },
  { value: 'failed', label: 'Guard failed' },
];
type LeftOutReason = NonNullable<ReadOf<'/admin/decisions'>['data'][number]['instead_of']>['reason'];
/** Why a named model was left out, the most frequent reasons first. */
const LEFT_OUT: Readonly<Record<LeftOutReason, string>> = {
  cooling: 'Rate limit of its provider',
  full: 'Limit of its endpoints',
  ejected: 'Too many faults',
  misconfigured: 'Key refused',
  out_of_credit: 'No credit at its provider',
  absent: 'Missing at its server',
  not_set_up: 'Provider not set up',
  funds: 'Budget or balance',
  budget_limit: 'budget_limit',
  max_cost: 'max_cost_credits',
  max_latency: 'max_latency_ms',
  context: 'Prompt too long',
  max_output: 'Output too long',
  capability: 'Missing capability',
  constraint: 'Constraint of the policy',
  key_models: 'Not allowed for the key',
  language: 'Programming language',
  operation: 'Other operation',
  dimensions: 'Dimensions of vectors',
  vector_space: 'Other vector space',
  thread: 'Stored conversation',
  thoughts: 'Reasoning of another model',
  selector: 'Not in the selector',
  unbounded_media: 'Media without a bound',
  unpriced: 'No price',
};
const LEFT_OUT_OPTIONS = [
  { value: 'any', label: 'Left out' },
  ...Object.entries(LEFT_OUT).map(([value, label]) => ({ value, label: `Left out: ${label}` })),
];
/** How many options a choice has: the most used values of the period. */
const OFFERED = 50;
/** How long the viewer must stop typing before the list is updated, ms. */
const TYPING_MS = 400;

/**
 * The row of filters.
 * @param failure the failure of the list; the field that the failure names shows the failure
 */
export function RequestFilters({ failure }: { readonly failure: ApiFailure | null }) {
  const isSet = FILTERS.some((name) => param(name) !== '');
  const reach = reachOfViewer('traffic.read');
  return (
    <div class="requests-filters">
      <Filters onClear={isSet ? () => setParams(NONE, false) : null}>
        <Used name="key" label="Key" all="All" />
        {(reach === 'all' || param('team') !== '') && <Used name="team" label="Team" all="All" />}
        <Used name="model" label="Model" all="All" />
        {mayGroup('traffic', 'task') ? (
          <Used name="task" label="Task" all="All" />
        ) : (
          <Typed name="task" label="Task" placeholder="Any" failure={failure} />
        )}
        <Choice name="status" label="Status" all="Any" options={STATUS_OPTIONS} />
        <Typed name="code" label="Error code" placeholder="Any" failure={failure} />
        <Typed name="label" label="Label" placeholder="k=v" failure={failure} />
        <Typed name="session" label="Session" placeholder="Any" failure={failure} />
        <Typed name="guard" label="Guard" placeholder="Any" failure={failure} />
        {(param('guard') !== '' || param('finding') !== '') && (
          <Choice name="finding" label="Finding" all="Any" options={FINDING_OPTIONS} />
        )}
        <Choice name="left_out" label="Named model" all="Any" options={LEFT_OUT_OPTIONS} />
        {(param('left_out') !== '' || param('instead_of') !== '') && (
          <Typed name="instead_of" label="Instead of" placeholder="Any model" failure={failure} />
        )}
      </Filters>
    </div>
  );
}

interface ChoiceProps<Name extends Filter = Filter> {
  readonly name: Name;
  readonly label: string;
  readonly all: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
}

/** A choice of values that had traffic in the period, by name. */
function Used({ name, ...words }: Omit<ChoiceProps<'key' | 'team' | 'model' | 'task'>, 'options'>) {
  const isWanted = mayGroup('traffic', name);
  const { data } = useTraffic({ by: name, limit: OFFERED, isCoarse: true, hasPoints: false, isWanted });
  const options = (data?.series ?? [])
    .filter(({ value }) => value !== '')
    .map(({ value, name: shown }) => ({ value, label: shown || value }));
  return <Choice name={name} {...words} options={options} />;
}

/**
 * Lets the viewer choose a single value or all values. The list of values always contains the value of the address, even if that value had
 * no traffic.
 */
function Choice({ name, label, all, options }: ChoiceProps) {
  const value = param(name);
  const isOffered = value === '' || options.some((option) => option.value === value);
  return (
    <Select
      label={label}
      value={value}
      onValue={(chosen) => setParams({ [name]: chosen }, false)}
      options={[{ value: '', label: all }, ...(isOffered ? [] : [{ value, label: value }]), ...options]}
    />
  );
}

interface TypedProps {
  readonly name: Filter;
  readonly label: string;
  readonly placeholder: string;
  readonly failure: ApiFailure | null;
}

/** Opens the request with an ID: of the request, as in `x-request-id`, or of its decision. */
export function FindRequest() {
  const [id, setId] = useState('');
  const find = (event: Event) => {
    event.preventDefault();
    const wanted = id.trim();
    if (wanted !== '') go(hrefWith({ again: null }, `/requests/${encodeURIComponent(wanted)}`));
  };
  return (
    <form class="requests-find" onSubmit={find}>
      <Field isBare label="Find by ID" type="search" placeholder="req_… or dec_…" value={id} onValue={setId} />
      <Button kind="plain" type="submit">
        Find
      </Button>
    </form>
  );
}

/** A text filter. The list is updated when the viewer stops typing. */
function Typed({ name, label, placeholder, failure }: TypedProps) {
  const [draft, setDraft] = useDraft(param(name));
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <Field
      label={label}
      placeholder={placeholder}
      value={draft}
      error={failure?.field === name ? failure.message : null}
      onValue={(value) => {
        setDraft(value);
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => setParams({ [name]: value.trim() }), TYPING_MS);
      }}
    />
  );
}
