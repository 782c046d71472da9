/** Data files are imported for their path. */
declare module '*.yaml' {
  const path: string;
  export default path;
}
