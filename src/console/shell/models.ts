import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ReadOf } from '../api/reads.ts';
import { useResource } from '../api/resource.ts';
import { knowModels } from '../design/marks.ts';

type ModelLine = ReadOf<'/admin/models'>['data'][number];

/** Removes selectors and aliases. */
export const modelsIn = (data: readonly ModelLine[]): readonly ModelLine[] =>
  data.filter(({ owned_by, id, display_name }) => owned_by !== 'signalbox' && id === display_name);

const names = signal<readonly string[]>([]);
knowModels(() => names.value);

/** Reads the names of all models once, so that each model has the same colour in every view. */
export function useModelColours(isWanted: boolean): void {
  const { data } = useResource('/admin/models', {}, { isWanted });
  useEffect(() => {
    if (data) names.value = modelsIn(data.data).map(({ id }) => id);
  }, [data]);
}
