import type { Reach } from '../../../operate/roles.ts';
import { Field, Select } from '../../design/field.tsx';
import { setParams } from '../../shell/router.ts';
import { session } from '../../shell/session.ts';
import { DIMENSION_NAMES, dimensionsOf, type SpendDimension } from './spend.ts';

/** Whether the viewer is a key for reports, which is shown no people. */
export function isReportKey(): boolean {
  const now = session.value;
  return now.state === 'in' && now.viewer.role === 'report';
}

/** Chooses what spend is told apart by. */
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
