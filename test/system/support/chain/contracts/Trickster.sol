// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// A payer's own contract: uses up authorizations towards anybody and moves money beside them, all in one transaction.
contract Trickster {
    function run(address[] calldata targets, bytes[] calldata calls) external {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool success, ) = targets[i].call(calls[i]);
            require(success, "Trickster: a call failed");
        }
    }
}
