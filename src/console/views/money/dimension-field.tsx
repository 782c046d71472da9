import { BASE, queryText } from '../../api/base.ts';
import { ButtonLink } from '../../design/button.tsx';
import { Field, Select } from '../../design/field.tsx';
import { Empty } from '../../design/states.tsx';
import { recall, remember } from '../../shell/memory.ts';
import { viewerZone } from '../../shell/range.ts';
import { param, setParams } from '../../shell/router.ts';
import { DIMENSION_NAMES, dimensionsOfViewer, hasCharges, nounOf, type SpendDimension } from './spend.ts';

/** Selects the dimension by which spend is divided. */
export function DimensionField({ by }: { readonly by: SpendDimension }) {
  const isLabel = by.startsWith('label:');
  const choose = (next: SpendDimension) => setParams({ by: next === 'key' ? null : next, open: null }, false);
  const options = dimensionsOfViewer().map((value) => ({
    value,
    label: `By ${(DIMENSION_NAMES[value] ?? 'label').toLowerCase()}`,
  }));
  return (
    <>
      <Select isBare label="By" value={isLabel ? 'label:' : by} onValue={choose} options={options} />
      {isLabel && (
        <Field
          isBare
          label="Name of the label"
          placeholder="Name of the label"
          value={by.slice('label:'.length)}
          onValue={(name) => setParams({ by: `label:${name.trim()}`, open: null })}
        />
      )}
    </>
  );
}

/** The second dimension in the address; null if there is none, or if the ledger cannot combine it with the first. */
export function secondIn(by: SpendDimension): SpendDimension | null {
  return hasCharges(by) ? (secondsOf(by).find((known) => known === param('and')) ?? null) : null;
}

const secondsOf = (by: SpendDimension): readonly SpendDimension[] =>
  dimensionsOfViewer().filter((known) => known !== by && hasCharges(known));

/** Selects a second dimension, so that spend is divided by team and model, for example. */
export const SecondField = ({ by }: { readonly by: SpendDimension }) =>
  hasCharges(by) ? (
    <Select
      isBare
      label="And by"
      value={secondIn(by) ?? ''}
      onValue={(and) => setParams({ and }, false)}
      options={[
        { value: '', label: 'One dimension' },
        ...secondsOf(by).map((value) => ({ value, label: `And by ${nounOf(value).toLowerCase()}` })),
      ]}
    />
  ) : null;

/** The time zone in which months begin: from the address, or else the last one of this browser, or else UTC. */
export const zoneIn = (): string => zonesOf().find((known) => known === (param('zone') || recall('zone'))) ?? 'UTC';

const zonesOf = (): readonly string[] => [...new Set(['UTC', viewerZone()])];

/** Selects the time zone in which months begin. Providers mostly bill in UTC. */
export const ZoneField = () =>
  zonesOf().length === 1 ? null : (
    <Select
      isBare
      label="Time zone"
      value={zoneIn()}
      onValue={(zone) => {
        remember('zone', zone);
        setParams({ zone }, false);
      }}
      options={zonesOf().map((value) => ({ value, label: value === 'UTC' ? 'Months in UTC' : `Months in ${value}` }))}
    />
  );

/** The text that is shown until the viewer names a label. */
export const NoLabel = () => (
  <Empty title="Name a label">
    Keys have labels, such as <code>app</code> or <code>env</code>. Each value of the label gets a row here.
  </Empty>
);

interface ExportLinkProps {
  readonly by: SpendDimension;
  readonly period: { readonly from: string; readonly to: string };
  readonly step?: 'day' | 'month';
  /** A second dimension. */
  readonly and?: SpendDimension | null;
  /** The time zone in which days begin. */
  readonly zone?: string;
}

/** Downloads the charges of a period as CSV with a line for each day or month. The API writes the file. */
export const ExportLink = ({ by, period, step = 'day', and = null, zone = viewerZone() }: ExportLinkProps) =>
  hasCharges(by) ? (
    <ButtonLink
      download={`spend-by-${[step, by, ...(and ? [and] : [])].join('-and-').replace(/\W+/g, '-')}.csv`}
      href={`${BASE}/admin/usage${queryText({ by: [step, by, ...(and ? [and] : [])].join(','), ...period, time_zone: zone, format: 'csv' })}`}
    >
      Export CSV
    </ButtonLink>
  ) : null;

interface ChargesLinkProps {
  readonly period: { readonly from: string; readonly to: string };
  /** Restricts the file to one key, team, model …; absent for all charges that the viewer may see. */
  readonly only?: Readonly<Record<string, string>>;
}

/** Downloads a period as CSV with a line for each single charge, in whole days of the viewer. The API writes the file. */
export const ChargesLink = ({ period, only = {} }: ChargesLinkProps) => (
  <ButtonLink
    download={`charges-${period.from}-${period.to}.csv`}
    href={`${BASE}/admin/usage/export${queryText({ ...period, ...only, time_zone: viewerZone() })}`}
  >
    Export charges
  </ButtonLink>
);
