import {
  type LabelGrouping,
  labelPrefix,
  labelSeries,
  TRAFFIC_DIMENSIONS,
  type TrafficDimension,
  type TrafficGrouping,
} from '../../store/traffic.ts';

export const TRAFFIC_GROUPINGS: readonly Exclude<TrafficDimension, 'label'>[] = TRAFFIC_DIMENSIONS.filter(
  (dimension) => dimension !== 'label',
);

const LABEL = 'label:';
export const isLabelGrouping = (text: string): text is LabelGrouping =>
  text.startsWith(LABEL) && text.length > LABEL.length;

export const dimensionOf = (by: TrafficGrouping): TrafficDimension => (isLabelGrouping(by) ? 'label' : by);

/** How the series of a grouping begin; they are told without it. */
export const prefixOf = (by: TrafficGrouping): string =>
  isLabelGrouping(by) ? labelPrefix(by.slice(LABEL.length)) : '';

/** Values of dimensions; of `label`, `name=value`. */
export type TrafficFilters = Readonly<Partial<Record<TrafficDimension, string>>>;

/** The series that a filter means. */
export function filterSeries(dimension: TrafficDimension, value: string): string {
  if (dimension !== 'label') return value;
  const at = value.indexOf('=');
  return labelSeries(value.slice(0, at), value.slice(at + 1));
}
