import { largeNumbersTest } from './large-numbers.ts';

largeNumbersTest('off', true);
largeNumbersTest('required', true);
