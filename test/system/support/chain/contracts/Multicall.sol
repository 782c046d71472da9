// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// Several calls in one, as far as clients of this protocol ask for it.
contract Multicall {
    struct Call {
        address target;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            (bool success, bytes memory returnData) = calls[i].target.call(calls[i].callData);
            require(success || !requireSuccess, "Multicall: a call failed");
            results[i] = Result(success, returnData);
        }
    }
}
