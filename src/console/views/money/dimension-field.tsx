import type { Reach } from '../../../admin/use-cases/roles.ts';
import { BASE, queryText } from '../../api/base.ts';
import { ButtonLink } from '../../design/button.tsx';
import { Field, Select } from '../../design/field.tsx';
import { Empty } from '../../design/states.tsx';
import { setParams } from '../../shell/router.ts';
import { session } from '../../shell/session.ts';
import { DIMENSION_NAMES, dimensionsOf, isBooked, type SpendDimension, viewerZone } from './spend.ts';

/** Whether the viewer signed in with a report key, which may not see people. */
export function isReportKey(): boolean {
  const now = session.value;
  return now.state === 'in' && now.viewer.role === 'report';
}

/** Selects the dimension by which spend is divided. */
export function DimensionField({ by, reach }: { readonly by: SpendDimension; readonly reach: Reach }) {
  const isLabel = by.startsWith('label:');
  const choose = (next: SpendDimension) => setParams({ by: next === 'key' ? null : next, open: null }, false);
  const options = dimensionsOf(reach, isReportKey()).map((value) => ({
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
}

/** Downloads the charges of a period as CSV with a line for each day or month. The API writes the file. */
export const ExportLink = ({ by, period, step = 'day' }: ExportLinkProps) =>
  isBooked(by) ? (
    <ButtonLink
      download={`spend-by-${step}-and-${by.replace(/\W+/g, '-')}.csv`}
      href={`${BASE}/admin/usage${queryText({ by: `${step},${by}`, ...period, time_zone: step === 'month' ? 'UTC' : viewerZone(), format: 'csv' })}`}
    >
      Export CSV
    </ButtonLink>
  ) : null;
