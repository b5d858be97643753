"""Private models that predict: decision trees and forests."""
