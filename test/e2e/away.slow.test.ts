import { lateChangesTest } from './away.ts';

lateChangesTest('required');
